import Dispatch
import Synchronization

/// The threads of a store's async forms: reads and writes run concurrently, each up to a limit. The calling task continues on them, with its
/// task-locals and its cancellation.
///
/// Writes wait for each other in the store itself, where those that arrive together share a commit.
public final class StoreDispatcher: Sendable {
    /// How many reads run concurrently; further ones wait without a thread.
    @_spi(Engines) public static let concurrentReads = 4
    /// How many writes enter the store concurrently; further ones wait without a thread.
    @_spi(Engines) public static let concurrentWrites = 8

    private struct Lanes {
        let reads: ThreadLanes
        let writes: ThreadLanes
    }

    private let label: String
    private let made = Mutex<Lanes?>(nil)
    private let line = WriteLine()

    /// - Parameter label: what the queues are named after, the store.
    @_spi(Engines) public init(label: String) { self.label = label }

    /// Made for the first async form, so that an opening does not pay for threads that blocking callers never use.
    private var lanes: Lanes {
        made.withLock { made in
            if let made { return made }
            let lanes = Lanes(
                reads: ThreadLanes(label: "HabitStore.\(label).read", limit: Self.concurrentReads),
                writes: ThreadLanes(label: "HabitStore.\(label).write", limit: Self.concurrentWrites)
            )
            made = lanes
            return lanes
        }
    }

    /// Whether the calling thread is a store's own, on which async forms run.
    package static var isOwnThread: Bool { ThreadLanes.isCurrentThread }

    /// Runs a blocking read off the cooperative pool, in the caller's task.
    ///
    /// - Throws: `CancellationError` when the task was cancelled before the work began; begun work is finished, unless it asks
    ///   for the cancellation itself.
    package func read<R: Sendable>(_ work: @escaping @Sendable () throws -> R) async throws -> R {
        try Task.checkCancellation()
        return try await withTaskExecutorPreference(lanes.reads) {
            try Task.checkCancellation()
            return try work()
        }
    }

    /// Begins a task that is on the threads of reads from its beginning.
    func detach(_ work: @escaping @Sendable () async -> Void) {
        Task.detached(executorPreference: lanes.reads, operation: work)
    }

    /// Runs a blocking write off the cooperative pool, in the caller's task. `work` has to run its closure under
    /// ``WriteAttempt/guarding(_:)``.
    ///
    /// - Throws: `CancellationError` when the task was cancelled before the closure began; a closure that has begun is
    ///   finished, unless it asks for the cancellation itself.
    package func write<R: Sendable>(_ work: @escaping @Sendable (WriteAttempt) throws -> R) async throws -> R {
        try Task.checkCancellation()
        return try await withTaskExecutorPreference(lanes.writes) { try line.run(WriteAttempt(line), work) }
    }
}
