import Synchronization

/// Counts up from 0, from any thread.
final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    /// The next number; begins again at 0 after `Int.max`.
    func next() -> Int { value.wrappingAdd(1, ordering: .relaxed).oldValue & Int.max }
}
