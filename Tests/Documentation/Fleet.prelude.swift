import HabitStoreRollout
import HabitTracker
import StandardEngines

let stores = try UserStores(root: "/var/lib/habits", flags: nil, schema: HabitSchema.current)
let users = [(user: "alice", bytes: 4096)]
try stores.store(for: "alice").close()
let plan = FleetPlan()
let text = Data("{}".utf8)
