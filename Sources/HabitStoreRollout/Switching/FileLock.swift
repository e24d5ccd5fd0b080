import Foundation
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An advisory lock on a file of its own (`flock`), for one holder at a time across processes; the system releases it
/// when its holder dies.
struct FileLock: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Waits for the lock.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` when it is held for longer than `timeoutSeconds`.
    init(path: String, timeoutSeconds: Double) throws {
        let opened = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            throw HabitStoreError(
                errno == EACCES || errno == EROFS ? .permissionDenied : errno == ENOENT ? .notFound : .inputOutput,
                errno == ENOENT
                    ? "the user's folder is gone; close the store and open it again to begin anew"
                    : "the lock file cannot be opened: \(String(cString: strerror(errno)))",
                at: .init(path: path)
            )
        }
        let deadline = ContinuousClock.now + .seconds(timeoutSeconds)
        var pause = 0.001
        while flock(opened, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < deadline else {
                let reason = errno
                _ = Self.closeDescriptor(opened)
                throw HabitStoreError(
                    reason == EWOULDBLOCK ? .busy : .inputOutput,
                    "another process has been opening or switching this user's stores for \(timeoutSeconds) s",
                    at: .init(path: path)
                )
            }
            Thread.sleep(forTimeInterval: pause)
            pause = min(pause * 2, 0.05)
        }
        descriptor = opened
    }

    deinit { _ = Self.closeDescriptor(descriptor) }

    private static func closeDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }
}
