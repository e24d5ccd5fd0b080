let store = try InMemoryHabitStore()
