import HabitStore
import HabitStoreLMDB
import HabitTracker

let path = "store.lmdb"
