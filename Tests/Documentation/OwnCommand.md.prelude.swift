import Foundation
import HabitStoreLMDB
import HabitStorePostgres
import HabitStoreRollout
import HabitStoreSQLite

typealias MyProvider = LMDBProvider
