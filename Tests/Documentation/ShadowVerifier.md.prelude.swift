import HabitStore

let lineage = UUID()
let old = try InMemoryHabitStore(identity: lineage)
let new = try InMemoryHabitStore(identity: lineage)
try Data(#"{"queries": []}"#.utf8).write(to: URL(fileURLWithPath: "queries.json"))
