import Foundation
import Synchronization

/// Retries async writes that found the store busy, in order.
final class WriteLine: Sendable {
    private struct State {
        /// How many closures have begun and not come back yet.
        var underWay = 0
        /// Counts beginnings and ends.
        var steps: UInt64 = 0
    }

    /// The pause before a busy write is retried.
    private static let pauseSeconds = 0.001

    private let state = Mutex(State())

    /// A closure begins.
    func noteBeginning() {
        state.withLock { state in
            state.underWay += 1
            state.steps += 1
        }
    }

    /// Runs a write on the thread of its task. Waits without limit while other async writes keep the store busy, as if they stood in line before it.
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
