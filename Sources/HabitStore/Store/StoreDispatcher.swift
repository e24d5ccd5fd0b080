import Dispatch
import Foundation
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
        let reads: StoreThreads
        let writes: StoreThreads
    }

    private let label: String
    private let made = Mutex<Lanes?>(nil)
    private let line = WriteQueue()

    /// - Parameter label: what the queues are named after, the store.
    @_spi(Engines) public init(label: String) { self.label = label }

    /// Made for the first async form, so that an opening does not pay for threads that blocking callers never use.
    private var lanes: Lanes {
        made.withLock { made in
            if let made { return made }
            let lanes = Lanes(
                reads: StoreThreads(label: "HabitStore.\(label).read", limit: Self.concurrentReads),
                writes: StoreThreads(label: "HabitStore.\(label).write", limit: Self.concurrentWrites)
            )
            made = lanes
            return lanes
        }
    }

    /// Whether the calling thread is a store's own, on which async forms run.
    package static var isOwnThread: Bool { StoreThreads.isCurrentThread }

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

/// A store's threads, on which tasks may block. They are created on demand, up to a limit.
///
/// It is a task executor, so that the caller's task itself runs here, with its task-locals and its cancellation. Tasks that find no thread wait
/// without one, in the order in which they came.
final class StoreThreads: TaskExecutor {
    private struct State {
        var idle: [DispatchQueue] = []
        var made = 0
        var waiting: [UnownedJob] = []
    }

    /// Marks the queues of these threads.
    private static let mark = DispatchSpecificKey<Void>()

    private let label: String
    private let limit: Int
    private let state = Mutex(State())

    init(label: String, limit: Int) { (self.label, self.limit) = (label, limit) }

    /// Whether the calling thread is one of some lanes.
    static var isCurrentThread: Bool { DispatchQueue.getSpecific(key: mark) != nil }

    /// Runs a task's next part as soon as a thread is free.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let queue = state.withLock { state -> DispatchQueue? in
            if let queue = state.idle.popLast() { return queue }
            guard state.made < limit else {
                state.waiting.append(job)
                return nil
            }
            state.made += 1
            let queue = DispatchQueue(label: "\(label)\(state.made)")
            queue.setSpecific(key: Self.mark, value: ())
            return queue
        }
        guard let queue else { return }
        queue.async { self.run(on: queue, beginningWith: job) }
    }

    private func run(on queue: DispatchQueue, beginningWith first: UnownedJob) {
        first.runSynchronously(on: asUnownedTaskExecutor())
        let next = state.withLock { state -> UnownedJob? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.idle.append(queue)
            return nil
        }
        if let next { queue.async { self.run(on: queue, beginningWith: next) } }
    }
}

/// Retries async writes that found the store busy, in order.
final class WriteQueue: Sendable {
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

/// One async write: whether its closure has begun.
package final class WriteAttempt: Sendable {
    private let begun = Atomic<Bool>(false)
    private let line: WriteQueue

    init(_ line: WriteQueue) { self.line = line }

    /// Whether the closure has begun: it must not run again.
    var hasBegun: Bool { begun.load(ordering: .acquiring) }

    /// Wraps the transaction's closure: a task that was cancelled while its write waited for the transaction does nothing.
    package func guarding<R>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) -> (any WriteTransaction) throws -> R {
        { transaction in
            try Task.checkCancellation()
            self.begun.store(true, ordering: .releasing)
            self.line.noteBeginning()
            return try body(transaction)
        }
    }
}
