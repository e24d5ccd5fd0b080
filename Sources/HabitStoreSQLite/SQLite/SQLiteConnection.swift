internal import CSQLite
import Foundation
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// A connection to a database file, used by one thread at a time: SQLite's own mutex is off.
///
/// No connection checkpoints automatically, neither after a commit nor on close; see ``SQLiteSharedFile``.
final class SQLiteConnection {
    /// The file's path, with symbolic links resolved.
    let path: String
    let options: SQLiteOptions
    let handle: SQLiteHandle
    let cache: SQLiteStatementCache
    /// Tells connections from before a reopening apart from later ones, for the owner of a pool.
    var generation = 0
    /// The header of the snapshot during an inspection.
    var inspectedHeader: SQLiteHeader?
    /// The file's schema cookie in the last transaction's snapshot. It changes with tables and indexes.
    var schemaCookie: Int64 = -1
    /// Counts the records that statements visit, after the first request for it.
    var visits: SQLiteVisits?
    /// State that the layer above keeps with the connection until it is closed.
    var companion: AnyObject?

    /// Opens the file. The mode `.create` creates a missing one.
    convenience init(path: String, mode: SQLiteOpenMode, options: SQLiteOptions = SQLiteOptions()) throws {
        try self.init(prepared: try SQLiteFiles.prepare(path, mode: mode).path, mode: mode, options: options)
    }

    /// Opens a file that ``SQLiteFiles/prepare(_:mode:)`` has examined, by the path that it returned.
    ///
    /// - Parameter isImmutable: whether to read the file without locks and without its log. Hazard: only correct if no process
    ///   changes the file at the same time, which the caller must check.
    /// - Parameter checksLog: whether to reject a log that does not belong to the file, before SQLite recovers it. Not needed if
    ///   this process already has the file open.
    init(
        prepared path: String,
        mode: SQLiteOpenMode,
        options: SQLiteOptions,
        isImmutable: Bool = false,
        checksLog: Bool = true
    ) throws {
        try SQLiteLibrary.check()
        self.path = path
        self.options = options
        let access = mode.isWritable && !isImmutable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        let name = isImmutable ? Self.immutableName(of: path) : path
        var pointer: OpaquePointer?
        let result = sqlite3_open_v2(
            name,
            &pointer,
            access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | (isImmutable ? SQLITE_OPEN_URI : 0),
            nil
        )
        guard result == SQLITE_OK, let pointer else {
            let code = pointer.map { sqlite3_extended_errcode($0) } ?? result
            let error = SQLiteError.make(code, database: pointer, path: path, while: "opening the database")
            sqlite3_close_v2(pointer)
            throw error
        }
        handle = SQLiteHandle(pointer: pointer, path: path, stepLimitSeconds: options.stepLimitSeconds)
        cache = SQLiteStatementCache(capacity: options.cachedStatements)
        sqlite3_extended_result_codes(pointer, 1)
        try harden()
        if checksLog, !isImmutable { try requireOwnLog() }
        // If writing is not allowed, SQLite silently opens the file for reading.
        if mode.isWritable, sqlite3_db_readonly(pointer, "main") != 0 {
            throw HabitStoreError(
                .permissionDenied,
                "the file can be read and not written; check its owner and mode, or open it read-only",
                at: HabitStoreError.Location(path: path)
            )
        }
        try explainingTruncation { try configure() }
    }

    /// Closes the connection. Statements that are still referenced throw `.closed` from then on.
    func close() {
        companion = nil
        cache.removeAll()
        handle.close()
    }

    /// How long SQLite itself waits for a lock.
    func setBusyTimeout(milliseconds: Int32) {
        sqlite3_busy_timeout(handle.pointer, milliseconds)
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    var changes: Int { Int(sqlite3_changes(handle.pointer)) }

    /// The number of rows that INSERT, UPDATE and DELETE have changed since the connection was opened.
    var totalChanges: Int { Int(sqlite3_total_changes(handle.pointer)) }

    /// The rowid of the last INSERT into a table with rowids.
    var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle.pointer) }

    /// The number of pages in the log after this connection's last commit or checkpoint.
    var logPages: Int { handle.logPages }

    /// Runs one or more statements that return no rows.
    func exec(_ sql: String) throws {
        try checkOpen()
        handle.beginStep()
        let result = sqlite3_exec(handle.pointer, sql, nil, nil, nil)
        guard result == SQLITE_OK else {
            let error = handle.error(result, while: "running a statement")
            if !isInTransaction { handle.rollbackCause = error.underlying as? SQLiteResult }
            throw error
        }
    }

    /// Prepares a statement for the caller to keep. Prefer ``withStatement(_:_:)``.
    func prepare(_ sql: String) throws -> SQLiteStatement {
        try SQLiteStatement(sql, handle: handle, isKept: false)
    }

    /// Lends the cached statement for this SQL. Afterwards it is reset and its bindings are cleared, whatever `body` did.
    func withStatement<T>(_ sql: String, _ body: (SQLiteStatement) throws -> T) throws -> T {
        let statement = try borrowStatement(sql)
        defer { giveBack(statement) }
        return try body(statement)
    }

    /// Borrows the cached statement for this SQL beyond a closure's scope; return it with ``giveBack(_:)``.
    func borrowStatement(_ sql: String) throws -> SQLiteStatement {
        try checkOpen()
        return try cache.borrow(sql) { isKept in
            try SQLiteStatement(sql, handle: handle, isKept: isKept)
        }
    }

    /// Returns a statement from ``borrowStatement(_:)``.
    func giveBack(_ statement: SQLiteStatement) { cache.giveBack(statement) }

    /// The first column of the first row as an integer; nil without a row or for NULL.
    func int64(_ sql: String) throws -> Int64? {
        let statement = try prepare(sql)
        guard try statement.step(), !statement.isNull(at: 0) else { return nil }
        return statement.int64(at: 0)
    }

    /// Whether there is a table with this column, according to the schema that the connection has read; runs no statement.
    func hasTable(_ name: String, column: String) throws -> Bool {
        try checkOpen()
        return sqlite3_table_column_metadata(handle.pointer, "main", name, column, nil, nil, nil, nil, nil) == SQLITE_OK
    }

    /// The first column of every row as text.
    func texts(_ sql: String) throws -> [String] {
        let statement = try prepare(sql)
        var texts: [String] = []
        while try statement.step() { texts.append(try statement.text(at: 0)) }
        return texts
    }

    func checkOpen() throws {
        guard !handle.isClosed else { throw SQLiteStatement.closedError(path: path) }
    }

    /// The path as a URI, with every byte escaped that has a meaning in URIs.
    private static func immutableName(of path: String) -> String {
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8)
        let digits = Array("0123456789ABCDEF".utf8)
        var name = Array("file:".utf8)
        for byte in path.utf8 {
            if plain.contains(byte) {
                name.append(byte)
            } else {
                name += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: name + Array("?immutable=1".utf8), as: UTF8.self)
    }
}
