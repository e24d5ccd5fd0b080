internal import CSQLite
import Dispatch
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// The `sqlite3` pointer of one connection, kept alive by the connection and by each of its statements.
///
/// A statement that outlives its connection then finds a closed handle, and not freed memory.
final class SQLiteHandle {
    let pointer: OpaquePointer
    let path: String
    private(set) var isClosed = false
    /// The pages in the log after this connection's last commit.
    fileprivate(set) var logPages = 0
    /// The last error of a statement that made SQLite end the transaction by itself.
    var rollbackCause: SQLiteResult?

    private let stepLimitNanoseconds: UInt64
    /// The steps so far, of all statements.
    private var steps: UInt64 = 0
    /// The step whose work is being measured, how long it was at work, and when that was looked at last.
    private var watched: (step: UInt64, workedNanoseconds: UInt64, look: UInt64) = (0, 0, 0)
    /// The operations of SQLite's own machine between two looks: some milliseconds of work.
    private static let operationsBetweenLooks: Int32 = 500_000
    /// A process that was stopped, or waited for a disk, was not at work for longer than this between two looks.
    private static let longestLookNanoseconds: UInt64 = 1_000_000_000

    /// Takes the pointer over, which from here on is closed by this object alone.
    init(pointer: OpaquePointer, path: String, stepLimitSeconds: Double) {
        self.pointer = pointer
        self.path = path
        stepLimitNanoseconds = UInt64(min(max(0, stepLimitSeconds), 86_400) * 1_000_000_000)
        observeWork()
    }

    deinit { close() }

    /// Closes the connection; statements that are still held keep only memory.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        sqlite3_close_v2(pointer)
    }

    /// A statement goes on.
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

    /// Whether the step that is under way may go on.
    private func goesOn() -> Bool {
        let now = DispatchTime.now().uptimeNanoseconds
        let worked =
            watched.step == steps
            ? watched.workedNanoseconds + min(now &- watched.look, Self.longestLookNanoseconds) : 0
        watched = (steps, worked, now)
        return worked < stepLimitNanoseconds
    }

    /// Counts the log's pages at each commit, in the place of SQLite's own checkpointing, which is thereby switched
    /// off.
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

    /// Remembers what a checkpoint left in the log.
    func noteLogPages(_ pages: Int) { logPages = pages }

    /// The error for a result of this connection.
    func error(_ code: Int32, while action: String) -> HabitStoreError {
        SQLiteError.make(code, database: pointer, path: path, while: action)
    }
}
