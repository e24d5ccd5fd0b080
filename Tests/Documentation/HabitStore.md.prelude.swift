import HabitStoreTesting
import HabitTracker
import Testing

let store = try InMemoryHabitStore(schema: HabitSchema.current)

extension StoreUnderTest {
    static let mine = inMemory
}
