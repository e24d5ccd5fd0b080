import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite

typealias MyProvider = LMDBProvider

let seed: UInt64 = 7
