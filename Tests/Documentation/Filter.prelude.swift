let store = try InMemoryHabitStore()
let text = "Run"
let archived = Filter<Habit>(#Predicate { $0.isArchived })
