import HabitTracker

let store = try InMemoryHabitStore(schema: HabitSchema.current)
