import Foundation

/// Runs what a test does in the background on threads of its own: on the cooperative pool it would begin behind all of the tests that
/// wait there, which is minutes on a slow machine, and looks like an operation that is held up.
package final class ThreadPerJob: TaskExecutor {
    /// An executor of its own.
    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
