import Dispatch
import Synchronization

/// The threads on which a store's async forms run: reads and writes, each beside each other up to a limit.
///
/// Writes wait for one another in the store itself, where those that arrive together share a commit.
public final class StoreDispatcher: Sendable {
    /// How many reads run at once; more of them wait without a thread of their own.
    public static let concurrentReads = 4
    /// How many writes are let into the store at once; more of them wait without a thread of their own.
    public static let concurrentWrites = 8

    private struct Queues {
        let writes: WriteLanes
        let reads: [DispatchQueue]
    }

    private let label: String
    private let made = Mutex<Queues?>(nil)
    private let nextRead = Counter()

    /// - Parameter label: what the queues are named after, the store.
    public init(label: String) { self.label = label }

    /// Made for the first async form: an opening need not wait for what callers with threads of their own never use.
    private var queues: Queues {
        made.withLock { made in
            if let made { return made }
            let queues = Queues(
                writes: WriteLanes(label: "HabitStore.\(label).write", limit: Self.concurrentWrites),
                reads: (0..<Self.concurrentReads).map { DispatchQueue(label: "HabitStore.\(label).read\($0)") }
            )
            made = queues
            return queues
        }
    }

    /// Runs a blocking read off the cooperative pool.
    ///
    /// - Throws: `CancellationError` when the task was cancelled before the work began; begun work is finished.
    package func read<R: Sendable>(_ work: @escaping @Sendable () throws -> R) async throws -> R {
        try Task.checkCancellation()
        let queue = queues.reads[nextRead.next() % Self.concurrentReads]
        let attempt = WriteAttempt {}
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async {
                    let result = Result {
                        try attempt.checkCancellation()
                        return try work()
                    }
                    continuation.resume(with: result)
                }
            }
        } onCancel: {
            attempt.cancel()
        }
    }

    /// Runs a blocking write off the cooperative pool. `work` has to run its closure under ``WriteAttempt/guarding(_:)``.
    ///
    /// - Throws: `CancellationError` when the task was cancelled before the closure began; a closure that has begun is
    ///   finished.
    package func write<R: Sendable>(_ work: @escaping @Sendable (WriteAttempt) throws -> R) async throws -> R {
        try Task.checkCancellation()
        let writes = queues.writes
        let attempt = WriteAttempt { writes.noteBeginning() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                writes.async {
                    let result = Result { try writes.run(attempt, work) }
                    continuation.resume(with: result)
                }
            }
        } onCancel: {
            attempt.cancel()
        }
    }
}
