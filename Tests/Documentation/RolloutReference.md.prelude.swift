import FeatureFlags
import HabitStore
import HabitStoreLMDB
import HabitStorePostgres
import HabitStoreSQLite
import HabitTracker
import Logging
import StandardEngines

typealias ArchiveProvider = InMemoryProvider

struct Audit {
    func add(_ subject: String?, _ variant: String?, _ reason: Reason) {}
}

let audit = Audit()
let key = Data(repeating: 7, count: 32)
let root = "users"
let flags = "flags.json"
