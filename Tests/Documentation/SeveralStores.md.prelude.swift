import FeatureFlags
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

let root = "root"
let flags = "flags.json"
let engines = Engines.standard
