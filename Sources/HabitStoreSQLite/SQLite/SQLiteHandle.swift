internal import CSQLite
import Dispatch
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// The `sqlite3` pointer of a connection, kept alive by the connection and by each of its statements.
///
/// A statement that outlives its connection finds a closed handle rather than freed memory.
final class SQLiteHandle {
    let pointer: OpaquePointer
    let path: String
    private(set) var isClosed = false
    /// The number of pages in the log after this connection's last commit.
    fileprivate(set) var logPages = 0
    /// The last error of a statement that made SQLite end the transaction.
    var rollbackCause: SQLiteResult?

    private let stepLimitNanoseconds: UInt64
    /// The number of steps of all statements so far.
    private var steps: UInt64 = 0
    /// The step that is being measured, its working time so far, and the time of the last measurement.
    private var watched: (step: UInt64, workedNanoseconds: UInt64, look: UInt64) = (0, 0, 0)
    /// The number of virtual machine operations between two measurements: a few milliseconds of work.
    private static let operationsBetweenLooks: Int32 = 500_000
    /// The most working time counted between two measurements: a longer interval means that the process was stopped or waited for a
    /// disk.
    private static let longestLookNanoseconds: UInt64 = 1_000_000_000

    /// Takes ownership of the pointer, which only this object closes from now on.
    init(pointer: OpaquePointer, path: String, stepLimitSeconds: Double) {
        self.pointer = pointer
        self.path = path
        stepLimitNanoseconds = UInt64(min(max(0, stepLimitSeconds), 86_400) * 1_000_000_000)
        observeWork()
    }

    deinit { close() }

    /// Closes the connection. Statements that are still referenced only keep memory.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        sqlite3_close_v2(pointer)
    }

    /// Notes that a statement starts a step.
    @inline(__always)
    func beginStep() { steps &+= 1 }

    private func observeWork() {
        sqlite3_progress_handler(
            pointer,
            Self.operationsBetweenLooks,
            { context in
                guard let context else { return 0 }
                return Unmanaged<SQLiteHandle>.fromOpaque(context).takeUnretainedValue().goesOn() ? 0 : 1
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Whether the current step may continue.
    private func goesOn() -> Bool {
        let now = DispatchTime.now().uptimeNanoseconds
        let worked =
            watched.step == steps
            ? watched.workedNanoseconds + min(now &- watched.look, Self.longestLookNanoseconds) : 0
        watched = (steps, worked, now)
        return worked < stepLimitNanoseconds
    }

    /// Counts the log's pages at each commit. Replaces SQLite's automatic checkpoint, which uses the same hook.
    func observeLog() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            pointer,
            { context, _, _, pages in
                if let context {
                    Unmanaged<SQLiteHandle>.fromOpaque(context).takeUnretainedValue().logPages = Int(pages)
                }
                return SQLITE_OK
            },
            context
        )
    }

    /// Stores the number of pages that a checkpoint left in the log.
    func noteLogPages(_ pages: Int) { logPages = pages }

    /// The error for a result of this connection.
    func error(_ code: Int32, while action: String) -> HabitStoreError {
        SQLiteError.make(code, database: pointer, path: path, while: action)
    }
}
