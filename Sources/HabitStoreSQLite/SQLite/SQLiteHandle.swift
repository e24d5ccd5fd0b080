internal import CSQLite
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

    /// Takes the pointer over, which from here on is closed by this object alone.
    init(pointer: OpaquePointer, path: String) {
        self.pointer = pointer
        self.path = path
    }

    deinit { close() }

    /// Closes the connection; statements that are still held keep only memory.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        sqlite3_close_v2(pointer)
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
