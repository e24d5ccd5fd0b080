import Foundation
import HabitStore
import RolloutTesting
import Synchronization

@testable import HabitStoreRollout

/// A copy into a user's new store, as another process makes it: it holds the copy lock, and continues when `goOn()` is called.
final class OtherCopy: Sendable {
    private let rests = DispatchSemaphore(value: 0)
    private let mayGoOn = DispatchSemaphore(value: 0)
    private let outcome = Mutex<Result<Backfill.Outcome, any Error>?>(nil)

    /// Takes the copy lock, then pauses.
    init(_ user: StagedUser) {
        Thread.detachNewThread { [self] in
            let result = Result { try run(user) }
            outcome.withLock { $0 = result }
            rests.signal()
        }
        rests.wait()
    }

    private func run(_ user: StagedUser) throws -> Backfill.Outcome {
        let turn = try CopyLock(user.directory)
        defer { withExtendedLifetime(turn) {} }
        rest()
        return try user.withStore(.old) { source in
            try user.withStore(.new, .create) { destination in
                var isBegun = false
                return try Backfill(from: source, to: destination, chunk: 5).run { _ in
                    if !isBegun { rest() }
                    isBegun = true
                }
            }
        }
    }

    private func rest() {
        rests.signal()
        mayGoOn.wait()
    }

    /// Continues to the end of the first chunk, or of the whole copy.
    func goOn() {
        mayGoOn.signal()
        _ = rests.wait(timeout: .now() + 10)
    }

    /// The outcome; nil while it runs.
    func result() throws -> Backfill.Outcome? { try outcome.withLock { $0 }?.get() }
}
