import HabitStoreTesting
import Testing

let store = try InMemoryHabitStore()

extension StoreUnderTest {
    static let mine = inMemory
}
