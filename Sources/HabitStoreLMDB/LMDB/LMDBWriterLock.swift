import Dispatch
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The lock that lets one process at a time begin a write transaction, with a limit to the wait for it.
///
/// LMDB's own lock is waited for without limit, so a process that is frozen while it writes would take all others along. This
/// one is taken before that: `flock` on the data file, which liblmdb never locks. The system gives it back when its process
/// dies. It belongs to the descriptor, so within a process the writer's turn decides who may take it.
enum LMDBWriterLock {
    private static let shortestPauseMicroseconds: UInt32 = 20
    private static let longestPauseMicroseconds: UInt32 = 1_000

    /// Takes the lock, and waits for it until the deadline.
    ///
    /// - Throws: `.busy` when another process keeps it longer.
    static func take(_ descriptor: Int32, until deadline: DispatchTime, path: String) throws {
        if try tryTake(descriptor, path: path) { return }
        let beginning = DispatchTime.now().uptimeNanoseconds
        var pause = shortestPauseMicroseconds
        repeat {
            LMDBPlatform.sleep(microseconds: pause)
            pause = min(pause * 2, longestPauseMicroseconds)
            if try tryTake(descriptor, path: path) { return }
        } while DispatchTime.now() < deadline
        let tenths = (DispatchTime.now().uptimeNanoseconds - beginning) / 100_000_000
        throw LMDBError.error(
            .busy,
            "another process has been writing for \(Double(tenths) / 10) s; it may be frozen: end it, or try again later",
            path: path
        )
    }

    /// Gives the lock back.
    static func release(_ descriptor: Int32) { flock(descriptor, LOCK_UN) }

    private static func tryTake(_ descriptor: Int32, path: String) throws -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let reason = errno
            if reason == EINTR { continue }
            if reason == EWOULDBLOCK { return false }
            throw LMDBError.error(reason, during: "locking the file", path: path)
        }
        return true
    }
}
