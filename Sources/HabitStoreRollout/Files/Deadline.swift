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

/// Threads for work that may hang forever. A finished thread is kept for the next work, since creating one costs more than most steps.
final class StepThreads: Sendable {
    static let shared = StepThreads()

    /// The most idle threads to keep.
    private static let mostIdle = 16

    private final class Worker: Sendable {
        private let work: Mutex<(@Sendable () -> Void)?>
        private let given = DispatchSemaphore(value: 0)

        init(_ work: @escaping @Sendable () -> Void) { self.work = Mutex(work) }

        func give(_ work: @escaping @Sendable () -> Void) {
            self.work.withLock { $0 = work }
            given.signal()
        }

        /// Releases what the work captured before waiting for the next.
        private func runWork() {
            let work = work.withLock { work in
                defer { work = nil }
                return work
            }
            work?()
        }

        func run(in threads: StepThreads) {
            while true {
                runWork()
                guard threads.keep(self) else { return }
                given.wait()
            }
        }
    }

    private let idle = Mutex<[Worker]>([])

    /// Runs `work` on a separate thread.
    func run(_ work: @escaping @Sendable () -> Void) {
        if let worker = idle.withLock({ $0.popLast() }) { return worker.give(work) }
        let worker = Worker(work)
        Thread.detachNewThread { worker.run(in: self) }
    }

    private func keep(_ worker: Worker) -> Bool {
        idle.withLock { idle in
            guard idle.count < Self.mostIdle else { return false }
            idle.append(worker)
            return true
        }
    }
}
