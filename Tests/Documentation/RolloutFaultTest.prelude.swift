import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker

typealias MyProvider = LMDBProvider

let seed: UInt64 = 7
