import HabitStore
import HabitStoreLMDB

let path = "store.lmdb"
