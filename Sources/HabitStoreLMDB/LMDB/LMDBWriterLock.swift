import Dispatch
import DurableFiles
import HabitStore

/// A lock that lets one process at a time begin a write transaction, with a limited wait.
///
/// Waiting for LMDB's own lock has no limit, so a process that freezes while writing would block all others. This lock is taken
/// first: `flock` on the data file, which liblmdb never locks. The system releases it when its process dies. It belongs to the
/// descriptor, so within a process only the current writer takes it.
enum LMDBWriterLock {
    /// A commit takes about as long as the shortest pause.
    private static let pauses = AdvisoryLock.Pauses(microseconds: 20...1_000)

    /// Acquires the lock, waiting until the deadline.
    ///
    /// - Throws: `.busy` if another process holds it longer.
    static func take(_ descriptor: Int32, until deadline: DispatchTime, path: String) throws {
        if try tryTake(descriptor, path: path) { return }
        let beginning = DispatchTime.now().uptimeNanoseconds
        let isTaken = try AdvisoryLock.wait(
            pauses,
            while: { DispatchTime.now() < deadline },
            for: { try tryTake(descriptor, path: path) }
        )
        if isTaken { return }
        let tenths = (DispatchTime.now().uptimeNanoseconds - beginning) / 100_000_000
        throw LMDBError.error(
            .busy,
            "another process has been writing for \(Double(tenths) / 10) s; it may be frozen: end it, or try again later",
            path: path
        )
    }

    /// Releases the lock.
    static func release(_ descriptor: Int32) { AdvisoryLock.release(descriptor) }

    private static func tryTake(_ descriptor: Int32, path: String) throws -> Bool {
        do {
            return try AdvisoryLock.exclusive.tryTake(descriptor, path: path)
        } catch {
            throw LMDBError.error(error.number, during: "locking the file", path: path)
        }
    }
}
