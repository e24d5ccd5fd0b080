internal import CSQLite
import Dispatch
import Foundation
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// A connection to a database file, used by one thread at a time: SQLite's own mutex is off.
///
/// No connection checkpoints automatically, neither after a commit nor on close; see ``SQLiteSharedFile``.
package final class SQLiteConnection {
    /// The file's path, with symbolic links resolved.
    package let path: String
    let options: SQLiteOptions
    let handle: SQLiteHandle
    let cache: SQLiteStatementCache
    /// Tells connections from before a reopening apart from later ones, for the owner of a pool.
    var generation = 0
    /// The header of the snapshot during an inspection.
    var inspectedHeader: SQLiteHeader?
    /// The file's schema cookie in the last transaction's snapshot. It changes with tables and indexes.
    package internal(set) var schemaCookie: Int64 = -1
    /// Counts the records that statements visit, after the first request for it.
    var visits: SQLiteVisits?
    /// Whether the log, at opening, had a commit that SQLite does not read and that may have been acknowledged.
    private(set) var dropsCommit = false
    /// State that the layer above keeps with the connection until it is closed.
    var companion: AnyObject?

    /// Opens the file. The mode `.create` creates a missing one.
    convenience init(path: String, mode: SQLiteOpenMode, options: SQLiteOptions = SQLiteOptions()) throws {
        try self.init(prepared: try SQLiteFiles.prepare(path, mode: mode).path, mode: mode, options: options)
    }

    /// Opens the file of another program, whose journal mode and settings remain.
    ///
    /// - Parameters:
    ///   - path: the file, which must exist.
    ///   - isWritable: whether transactions may write.
    ///   - enforcesForeignKeys: whether the program enforces its foreign keys.
    ///   - busyLimitSeconds: how long a transaction waits for another one.
    package convenience init(
        foreign path: String,
        isWritable: Bool,
        enforcesForeignKeys: Bool,
        busyLimitSeconds: Double
    ) throws {
        let mode: SQLiteOpenMode = isWritable ? .readWrite : .readOnly
        var options = SQLiteOptions()
        options.busyLimitSeconds = busyLimitSeconds
        let prepared = try SQLiteFiles.prepare(path, mode: mode).path
        try self.init(prepared: prepared, mode: mode, options: options, checksLog: false)
        try serveForeignFile(enforcesForeignKeys: enforcesForeignKeys)
        if isWritable { try requireFullSynchronization() }
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
        if checksLog, !isImmutable { dropsCommit = try requireOwnLog(isThorough: true) }
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
    package func close() {
        companion = nil
        cache.removeAll()
        handle.close()
    }

    /// How long SQLite itself waits for a lock.
    func setBusyTimeout(milliseconds: Int32) {
        sqlite3_busy_timeout(handle.pointer, milliseconds)
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    package var changes: Int { Int(sqlite3_changes(handle.pointer)) }

    /// The number of rows that INSERT, UPDATE and DELETE have changed since the connection was opened.
    var totalChanges: Int { Int(sqlite3_total_changes(handle.pointer)) }

    /// The rowid of the last INSERT into a table with rowids.
    var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle.pointer) }

    /// The number of pages in the log after this connection's last commit or checkpoint.
    var logPages: Int { handle.logPages }

    /// Runs one or more statements that return no rows.
    package func exec(_ sql: String) throws {
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
    package func prepare(_ sql: String) throws -> SQLiteStatement {
        try SQLiteStatement(sql, handle: handle, isKept: false)
    }

    /// Lends the cached statement for this SQL. Afterwards it is reset and its bindings are cleared, whatever `body` did.
    package func withStatement<T>(_ sql: String, _ body: (SQLiteStatement) throws -> T) throws -> T {
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
    package func int64(_ sql: String) throws -> Int64? {
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
    package func texts(_ sql: String) throws -> [String] {
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

extension SQLiteConnection {
    /// Restricts what a file can make SQLite do. Runs before the first read of the file.
    func harden() throws {
        try set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, to: true)
        try set(SQLITE_DBCONFIG_DEFENSIVE, to: true)
        try set(SQLITE_DBCONFIG_DQS_DDL, to: false)
        try set(SQLITE_DBCONFIG_DQS_DML, to: false)
        try set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, to: false)
        try set(SQLITE_DBCONFIG_ENABLE_FKEY, to: false)
        try set(SQLITE_DBCONFIG_ENABLE_TRIGGER, to: false)
        try set(SQLITE_DBCONFIG_ENABLE_VIEW, to: false)
        #if !canImport(Darwin)
        // Apple's library cannot load extensions.
        try set(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, to: false)
        #endif
        // Replaces the automatic checkpoint, which uses the same hook in the library.
        handle.observeLog()
        let pointer = handle.pointer
        sqlite3_limit(pointer, SQLITE_LIMIT_SQL_LENGTH, 1_000_000)
        sqlite3_limit(pointer, SQLITE_LIMIT_VDBE_OP, 25_000_000)
        sqlite3_limit(pointer, SQLITE_LIMIT_TRIGGER_DEPTH, 32)
        sqlite3_limit(pointer, SQLITE_LIMIT_WORKER_THREADS, 0)
        // VACUUM INTO attaches its target; nothing else is attached here.
        sqlite3_limit(pointer, SQLITE_LIMIT_ATTACHED, 1)
    }

    /// Applies the settings that are the same for every connection. Reads the file, because one of them needs its header.
    func configure() throws {
        setBusyTimeout(milliseconds: Deadline.after(seconds: options.busyLimitSeconds).remainingMilliseconds)
        // A negative size is in KiB rather than pages.
        let cacheKiB = max(0, options.cacheSizeBytes) / 1_024
        try exec(
            "PRAGMA cell_size_check = ON; PRAGMA mmap_size = \(max(0, options.mapSizeBytes)); "
                + "PRAGMA cache_size = -\(cacheKiB)"
        )
        #if canImport(Darwin)
        // On Apple platforms, fsync does not flush the drive's own cache.
        try exec("PRAGMA fullfsync = ON")
        try exec("PRAGMA checkpoint_fullfsync = ON")
        #endif
    }

    /// Makes every commit durable before it is acknowledged, and verifies the setting.
    package func requireFullSynchronization() throws {
        try exec("PRAGMA synchronous = FULL")
        guard try int64("PRAGMA synchronous") == 2 else {
            throw HabitStoreError(
                .unsupported,
                "SQLite did not accept synchronous=FULL, so a commit would not be durable; use another build of it",
                at: HabitStoreError.Location(path: path)
            )
        }
    }

    /// Lets the file of another program work as in that program: its triggers and views run, its log is copied by SQLite itself.
    ///
    /// - Parameter enforcesForeignKeys: whether the program enforces its foreign keys.
    func serveForeignFile(enforcesForeignKeys: Bool) throws {
        try set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, to: false)
        try set(SQLITE_DBCONFIG_ENABLE_FKEY, to: enforcesForeignKeys)
        try set(SQLITE_DBCONFIG_ENABLE_TRIGGER, to: true)
        try set(SQLITE_DBCONFIG_ENABLE_VIEW, to: true)
        // Old definitions quote texts like names.
        try set(SQLITE_DBCONFIG_DQS_DDL, to: true)
        try set(SQLITE_DBCONFIG_DQS_DML, to: true)
        // Its triggers may keep a full-text index, and its cascades may be long.
        try set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, to: true)
        sqlite3_limit(handle.pointer, SQLITE_LIMIT_TRIGGER_DEPTH, 1_000)
        // This also replaces the hook that counts the log's pages.
        try exec("PRAGMA wal_autocheckpoint = 1000")
    }

    /// Turns the triggers of a program's own file off or on again.
    package func runTriggers(_ isOn: Bool) throws { try set(SQLITE_DBCONFIG_ENABLE_TRIGGER, to: isOn) }

    /// Switches to the write-ahead log, and verifies the switch.
    func enterLogMode() throws {
        try requireLogMode(answer: try texts("PRAGMA journal_mode = WAL"))
        // After a restart, the log file is truncated to this size.
        let pageSize = try int64("PRAGMA page_size") ?? 4_096
        try exec("PRAGMA journal_size_limit = \(pageSize * Int64(max(1, options.checkpointPages)) * 4)")
    }

    /// Verifies that the file is in WAL mode, which the writer has set.
    func requireLogMode() throws {
        try requireLogMode(answer: try texts("PRAGMA journal_mode"))
    }

    private func requireLogMode(answer: [String]) throws {
        guard answer == ["wal"] else {
            throw HabitStoreError(
                .unsupported,
                "SQLite cannot keep a write-ahead log here (no shared memory on this file system?); use a local disk",
                at: HabitStoreError.Location(path: path)
            )
        }
    }

    private func set(_ option: Int32, to isOn: Bool) throws {
        var current: Int32 = -1
        let result = csqlite_db_config_flag(handle.pointer, option, isOn ? 1 : 0, &current)
        guard result == SQLITE_OK, current == (isOn ? 1 : 0) else {
            throw HabitStoreError(
                .unsupported,
                "SQLite did not accept the safety option \(option); use another build of it",
                at: HabitStoreError.Location(path: path)
            )
        }
    }
}

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

/// The prepared statements of a connection by their SQL. A full cache evicts the least recently used.
final class SQLiteStatementCache {
    private let capacity: Int
    private var statements: [String: SQLiteStatement] = [:]
    /// The most recent additions, in order. Repeated work uses the same statement, or, as in a commit, the same ones in the same
    /// order, and finds each of them after the one before it without hashing its SQL.
    private var recent: [SQLiteStatement] = []
    /// The position of the last one that was found.
    private var last = 0
    private static let recentCount = 16
    private var clock: UInt64 = 0
    /// The number of statements that were prepared.
    private(set) var preparations = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The number of cached statements.
    var count: Int { statements.count }

    /// A statement that is not in use. If the cached one is, as in a query inside a query, this is a new one.
    func borrow(_ sql: String, prepare: (_ isKept: Bool) throws -> SQLiteStatement) throws -> SQLiteStatement {
        clock += 1
        if let kept = find(sql) {
            if !kept.isBorrowed {
                kept.isBorrowed = true
                kept.lastUse = clock
                return kept
            }
            preparations += 1
            return try prepare(false)
        }
        let statement = try prepare(true)
        preparations += 1
        statement.isBorrowed = true
        statement.lastUse = clock
        if statements.count >= capacity { evictOne() }
        if statements.count < capacity {
            statements[sql] = statement
            statement.isKept = true
            remember(statement)
        }
        return statement
    }

    /// Borrows a known statement again if it is still in the cache and not in use.
    func borrow(_ statement: SQLiteStatement) -> Bool {
        guard statement.isKept, !statement.isBorrowed else { return false }
        clock += 1
        statement.isBorrowed = true
        statement.lastUse = clock
        return true
    }

    private func find(_ sql: String) -> SQLiteStatement? {
        if last < recent.count, recent[last].sql == sql { return recent[last] }
        for offset in 1..<max(1, recent.count) {
            let place = (last + offset) % recent.count
            guard recent[place].sql == sql else { continue }
            last = place
            return recent[place]
        }
        guard let kept = statements[sql] else { return nil }
        remember(kept)
        return kept
    }

    private func remember(_ statement: SQLiteStatement) {
        if recent.count < Self.recentCount {
            last = recent.count
            recent.append(statement)
        } else {
            last = (last + 1) % recent.count
            recent[last] = statement
        }
    }

    /// Ends the use of a statement: resets it and unbinds its parameters.
    func giveBack(_ statement: SQLiteStatement) {
        statement.clear()
        statement.isBorrowed = false
    }

    /// Releases all statements.
    func removeAll() {
        for statement in statements.values { statement.isKept = false }
        statements.removeAll()
        recent.removeAll()
    }

    private func evictOne() {
        // Searching all of them costs less than the preparation that made it necessary.
        let idle = statements.lazy.filter { !$0.value.isBorrowed }
        guard let oldest = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        oldest.value.isKept = false
        statements[oldest.key] = nil
        recent.removeAll { $0 === oldest.value }
    }
}
