import Dispatch
import DurableFiles
import HabitStore

/// The lock that lets one process at a time begin a write transaction, with a limit to the wait for it.
///
/// LMDB's own lock is waited for without limit, so a process that is frozen while it writes would take all others along. This
/// one is taken before that: `flock` on the data file, which liblmdb never locks. The system gives it back when its process
/// dies. It belongs to the descriptor, so within a process the writer's turn decides who may take it.
enum LMDBWriterLock {
    /// A commit takes about as long as the first.
    private static let pauses = AdvisoryLock.Pauses(microseconds: 20...1_000)

    /// Takes the lock, and waits for it until the deadline.
    ///
    /// - Throws: `.busy` when another process keeps it longer.
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

    /// Gives the lock back.
    static func release(_ descriptor: Int32) { AdvisoryLock.release(descriptor) }

    private static func tryTake(_ descriptor: Int32, path: String) throws -> Bool {
        do {
            return try AdvisoryLock.exclusive.tryTake(descriptor, path: path)
        } catch {
            throw LMDBError.error(error.number, during: "locking the file", path: path)
        }
    }
}
