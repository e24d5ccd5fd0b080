import HabitTracker
import Testing

extension StoreUnderTest {
    static let sqlite = inMemory
}
