import HabitTracker

extension StoreUnderTest {
    static let mine = inMemory
}
