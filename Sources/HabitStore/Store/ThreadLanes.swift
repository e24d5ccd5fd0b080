import Dispatch
import Synchronization

/// A store's threads, on which tasks may block. They are created on demand, up to a limit.
///
/// It is a task executor, so that the caller's task itself runs here, with its task-locals and its cancellation. Tasks that find no thread wait
/// without one, in the order in which they came.
final class ThreadLanes: TaskExecutor {
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
