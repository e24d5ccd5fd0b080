import HabitTracker

let store = try InMemoryHabitStore(schema: HabitSchema.current)
let text = "Run"
let archived = Filter<Habit>(#Predicate { $0.isArchived })
