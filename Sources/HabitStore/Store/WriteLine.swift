import Foundation
import Synchronization

/// What a store's async writes know of one another: one that the store is too busy for waits for those before it.
final class WriteLine: Sendable {
    private struct State {
        /// How many closures have begun and not come back yet.
        var underWay = 0
        /// Counts beginnings and ends.
        var steps: UInt64 = 0
    }

    /// The pause before a write that was told to be busy is tried again.
    private static let pauseSeconds = 0.001

    private let state = Mutex(State())

    /// A closure begins.
    func noteBeginning() {
        state.withLock { state in
            state.underWay += 1
            state.steps += 1
        }
    }

    /// Runs a write on the thread of its own that its task is on; a store that is busy with other async writes is waited for
    /// without limit, as if they stood in one line before it.
    func run<R>(_ attempt: WriteAttempt, _ work: (WriteAttempt) throws -> R) throws -> R {
        defer { if attempt.hasBegun { noteEnd() } }
        while true {
            try Task.checkCancellation()
            let before = state.withLock(\.steps)
            do {
                return try work(attempt)
            } catch let error as HabitStoreError where error.code == .busy && !attempt.hasBegun {
                guard state.withLock({ $0.underWay > 0 || $0.steps != before }) else { throw error }
                Thread.sleep(forTimeInterval: Self.pauseSeconds)
            }
        }
    }

    private func noteEnd() {
        state.withLock { state in
            state.underWay -= 1
            state.steps += 1
        }
    }
}
