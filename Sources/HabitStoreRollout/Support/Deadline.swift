import Dispatch
import Foundation
import HabitStore
import Synchronization

/// Time limits for work on a store that may hang forever.
enum Deadline {
    private final class Result<R: Sendable>: Sendable {
        let value = Mutex<Swift.Result<R, any Error>?>(nil)
    }

    /// Counts the progress of work of unknown length.
    final class Progress: Sendable {
        private let count = Atomic<Int>(0)

        /// Notes that there was some progress.
        func advance() { count.add(1, ordering: .relaxed) }

        fileprivate var steps: Int { count.load(ordering: .relaxed) }
    }

    /// Runs `body` on a separate thread and waits for it.
    ///
    /// - Throws: what `body` throws; ``HabitStoreError/Code/busy`` if it takes longer than `seconds`, counted from its last progress. The thread then
    ///   keeps running, so `body` must tolerate finishing later.
    static func run<R: Sendable>(
        seconds: Double,
        path: String?,
        _ body: @escaping @Sendable (Progress) throws -> R
    ) throws -> R {
        let result = Result<R>()
        let progress = Progress()
        let done = DispatchSemaphore(value: 0)
        StepThreads.shared.run {
            let outcome = Swift.Result { try body(progress) }
            result.value.withLock { $0 = outcome }
            done.signal()
        }
        var steps = 0
        while done.wait(timeout: .now() + seconds) != .success, progress.steps > steps { steps = progress.steps }
        guard let outcome = result.value.withLock({ $0 }) else {
            throw HabitStoreError(
                .busy,
                "the store has not answered for \(seconds) s; its disk or another process holds it up",
                at: .init(path: path)
            )
        }
        return try outcome.get()
    }
}
