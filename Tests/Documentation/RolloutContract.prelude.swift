import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import Testing

typealias MyProvider = LMDBProvider
