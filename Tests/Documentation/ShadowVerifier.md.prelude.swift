import HabitStore
import HabitTracker

let lineage = UUID()
let old = try InMemoryHabitStore(schema: HabitSchema.current, identity: lineage)
let new = try InMemoryHabitStore(schema: HabitSchema.current, identity: lineage)
try Data(#"{"queries": []}"#.utf8).write(to: URL(fileURLWithPath: "queries.json"))
