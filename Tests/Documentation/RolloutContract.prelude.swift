import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker
import Testing

typealias MyProvider = LMDBProvider
