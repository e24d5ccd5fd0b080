import Foundation
import HabitStore

/// A folder with an advisory lock (`flock`) on it, for one process at a time that changes files in it. The lock is on the
/// folder itself: a file that is replaced cannot carry one, and a lock file would stay behind.
struct LockedFolder: ~Copyable {
    private let descriptor: Int32
    private let path: String

    /// - Throws: ``HabitStoreError/Code/busy`` when it is held for longer than `timeoutSeconds`.
    init(_ path: String, timeoutSeconds: Double) throws {
        let opened = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { throw HabitStoreError.system(errno, "the folder cannot be opened", path) }
        let deadline = ContinuousClock.now + .seconds(timeoutSeconds)
        var pause = 0.001
        while flock(opened, LOCK_EX | LOCK_NB) != 0 {
            let reason = errno
            guard reason == EWOULDBLOCK || reason == EINTR, ContinuousClock.now < deadline else {
                close(opened)
                guard reason == EWOULDBLOCK else {
                    throw HabitStoreError.system(reason, "the folder cannot be locked", path)
                }
                throw HabitStoreError(
                    .busy,
                    "another process has been importing from this folder for \(timeoutSeconds) s; try again",
                    at: .init(path: path)
                )
            }
            Thread.sleep(forTimeInterval: pause)
            pause = min(pause * 2, 0.05)
        }
        descriptor = opened
        self.path = path
    }

    deinit { close(descriptor) }

    /// Brings to the disk which files there are.
    func sync() throws {
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw HabitStoreError.system(errno, "the folder cannot be brought to the disk", path)
        }
    }
}
