import Dispatch
import Foundation
import HabitStore
import Synchronization

/// Work on a store that may hang for ever, bounded by time.
enum Deadline {
    private final class Result<R: Sendable>: Sendable {
        let value = Mutex<Swift.Result<R, any Error>?>(nil)
    }

    /// Runs `body` on a thread of its own and waits for it.
    ///
    /// - Throws: what `body` throws; ``HabitStoreError/Code/busy`` when it takes longer than `seconds`. Its thread is left
    ///   to itself then, so `body` must be something that may still happen later.
    static func run<R: Sendable>(
        seconds: Double,
        path: String?,
        _ body: @escaping @Sendable () throws -> R
    ) throws -> R {
        let result = Result<R>()
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let outcome = Swift.Result { try body() }
            result.value.withLock { $0 = outcome }
            done.signal()
        }
        guard done.wait(timeout: .now() + seconds) == .success, let outcome = result.value.withLock({ $0 }) else {
            throw HabitStoreError(
                .busy,
                "the store has not answered for \(seconds) s; its disk or another process holds it up",
                at: .init(path: path)
            )
        }
        return try outcome.get()
    }
}
