import Dispatch
import Foundation
import Synchronization

/// What Dispatch needs for its first timer.
///
/// On Linux it opens three files then, and ends the process by a trap where the system gives it none: an app that had all its
/// files open died at the first retry of a mirror. So this is done where an error can still be thrown.
package enum DispatchTimers {
    private static let isReady = Mutex(false)
    /// More than it opens.
    private static let descriptors = 6
    private static let waitSeconds = 1.0

    /// Sets a first timer, if none was set so far.
    ///
    /// - Throws: ``HabitStoreError/Code/limitExceeded`` when too few files can be opened.
    package static func prepare() throws {
        try isReady.withLock { isReady in
            guard !isReady else { return }
            try requireDescriptors()
            let isDone = DispatchSemaphore(value: 0)
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(1)) { isDone.signal() }
            isReady = isDone.wait(timeout: .now() + waitSeconds) == .success
        }
    }

    private static func requireDescriptors() throws {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<descriptors {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw HabitStoreError(
                    .limitExceeded,
                    "too few files can be opened for timers (\(String(cString: strerror(errno)))); close some, or raise "
                        + "the limit with `ulimit -n`"
                )
            }
            opened.append(descriptor)
        }
    }
}
