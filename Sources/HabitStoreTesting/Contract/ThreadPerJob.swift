import Foundation

/// Runs each job of a test on a new thread. On the cooperative pool a job would begin only after all tests waiting there, which takes minutes on a
/// slow
/// machine and looks like an operation that hangs.
package final class ThreadPerJob: TaskExecutor {
    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
