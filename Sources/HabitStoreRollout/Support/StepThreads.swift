import Dispatch
import Foundation
import Synchronization

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
