internal import CSQLite
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

extension SQLiteConnection {
    /// Whether a transaction is open. Some errors end it without a ROLLBACK.
    package var isInTransaction: Bool { sqlite3_get_autocommit(handle.pointer) == 0 }

    /// Whether a statement is between its first row and its end.
    var isReading: Bool {
        var statement = sqlite3_next_stmt(handle.pointer, nil)
        while let found = statement {
            if sqlite3_stmt_busy(found) != 0 { return true }
            statement = sqlite3_next_stmt(handle.pointer, found)
        }
        return false
    }

    /// Begins a read transaction and reads once, which fixes the snapshot.
    package func beginRead() throws {
        try run("BEGIN DEFERRED")
        do {
            try readSchemaCookie()
        } catch {
            rollback()
            throw error
        }
    }

    /// Begins a write transaction, which excludes other writers until it ends.
    package func beginWrite() throws {
        handle.rollbackCause = nil
        try run("BEGIN IMMEDIATE")
        do {
            try readSchemaCookie()
        } catch {
            rollback()
            throw error
        }
    }

    private func readSchemaCookie() throws {
        schemaCookie = try withStatement("PRAGMA schema_version") { try $0.step() ? $0.int64(at: 0) : 0 }
    }

    /// Commits. First resets statements with remaining rows, which would keep the snapshot open.
    package func commit() throws {
        resetStatements()
        try run("COMMIT")
    }

    /// Rolls back the transaction if one is open. Returns false if even that failed; the connection must then be closed.
    @discardableResult
    package func rollback() -> Bool {
        resetStatements()
        guard isInTransaction else { return true }
        // Whatever ROLLBACK returns, only the state tells if the transaction has ended.
        sqlite3_exec(handle.pointer, "ROLLBACK", nil, nil, nil)
        return !isInTransaction
    }

    /// Runs `body` in the open transaction. If it throws, only its own changes are undone.
    ///
    /// If that fails, the whole transaction is rolled back and can no longer be committed.
    package func withSavepoint<T>(_ body: () throws -> T) throws -> T {
        // Outside a transaction, a savepoint would begin one.
        guard isInTransaction else { throw prematureEndError() }
        try run("SAVEPOINT part")
        do {
            let value = try body()
            guard isInTransaction else { throw prematureEndError() }
            try run("RELEASE part")
            return value
        } catch {
            undoSavepoint()
            throw error
        }
    }

    private func undoSavepoint() {
        resetStatements()
        // Some errors end the transaction with all of its savepoints.
        guard isInTransaction else { return }
        do {
            try run("ROLLBACK TO part")
            try run("RELEASE part")
        } catch {
            handle.rollbackCause = (error as? HabitStoreError)?.underlying as? SQLiteResult
            rollback()
        }
    }

    /// The error that ended the transaction early, for a body that continued after it.
    package func prematureEndError() -> HabitStoreError {
        if let cause = handle.rollbackCause {
            return SQLiteError.make(cause, path: path, while: "an earlier statement of the transaction")
        }
        return HabitStoreError(
            .internalInconsistency,
            "the transaction was ended inside its own body; nothing was committed by it at the end",
            at: HabitStoreError.Location(path: path)
        )
    }

    /// Whether a commit that failed with this result certainly had no effect.
    ///
    /// BUSY and a constraint leave the transaction open. A full disk leaves a truncated last frame, which recovery rejects, unless
    /// the library pads the log with further frames; it does so on devices that may tear neighbouring bytes.
    func isKnownAbsent(after result: SQLiteResult?) -> Bool {
        switch result?.primary {
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_CONSTRAINT: return true
        case SQLITE_FULL:
            var isPowerSafe: Int32 = -1
            let answer = sqlite3_file_control(handle.pointer, "main", SQLITE_FCNTL_POWERSAFE_OVERWRITE, &isPowerSafe)
            return answer == SQLITE_OK && isPowerSafe == 1
        default: return false
        }
    }

    /// The error for a commit that failed: the transaction is undone if it certainly had no effect.
    ///
    /// - Returns: the error itself, or ``HabitStoreError/Code/outcomeUnknown``.
    package func undoCommit(_ error: HabitStoreError) -> HabitStoreError {
        let isAbsent = isKnownAbsent(after: error.underlying as? SQLiteResult)
        let isRolledBack = rollback()
        guard !isAbsent || !isRolledBack else { return error }
        return HabitStoreError(
            .outcomeUnknown,
            "the commit failed, and whether it took effect shows only when the store is read again",
            at: HabitStoreError.Location(path: path),
            underlying: error
        )
    }

    private func run(_ sql: String) throws {
        try withStatement(sql) { try $0.run() }
    }

    private func resetStatements() {
        guard !handle.isClosed else { return }
        var next = sqlite3_next_stmt(handle.pointer, nil)
        while let statement = next {
            if sqlite3_stmt_busy(statement) != 0 { sqlite3_reset(statement) }
            next = sqlite3_next_stmt(handle.pointer, statement)
        }
    }
}

/// How much a checkpoint copies, and whether it waits.
enum SQLiteCheckpointMode: Sendable {
    /// Copies what no reader still needs, without waiting.
    case passive
    /// Copies everything and lets the next writer restart the log. Waits for readers up to the busy timeout.
    case restart
    /// Like `restart`, and truncates the log file to zero bytes.
    case truncate
}

extension SQLiteConnection {
    /// Copies the log into the database file. The caller must hold the store's write lock.
    ///
    /// Returns true if the file now has everything that is in the log, and false if readers were in the way. Throws before copying
    /// anything if the file was replaced in place, for example by an older one.
    func checkpoint(_ mode: SQLiteCheckpointMode) throws -> Bool {
        try checkOpen()
        try requireOwnLog()
        let number: Int32
        switch mode {
        case .passive: number = SQLITE_CHECKPOINT_PASSIVE
        case .restart: number = SQLITE_CHECKPOINT_RESTART
        case .truncate: number = SQLITE_CHECKPOINT_TRUNCATE
        }
        var logFrames: Int32 = -1
        var copiedFrames: Int32 = -1
        let result = sqlite3_wal_checkpoint_v2(handle.pointer, "main", number, &logFrames, &copiedFrames)
        guard result == SQLITE_OK || result & 0xff == SQLITE_BUSY else {
            throw handle.error(result, while: "copying the log into the database")
        }
        if logFrames >= 0 { handle.noteLogPages(Int(logFrames)) }
        return result == SQLITE_OK && logFrames == copiedFrames
    }

    /// Commits a write of the unchanged first page.
    ///
    /// A valid frame of a failed commit may still lie after the end of the log, where recovery would pick it up. This commit
    /// overwrites it.
    func overwriteLogEnd() throws {
        try beginWrite()
        do {
            let version = try int64("PRAGMA user_version") ?? 0
            try exec("PRAGMA user_version = \(version)")
            try commit()
        } catch {
            rollback()
            throw error
        }
    }
}

extension SQLiteConnection {
    /// Reads the file for the first time, to see if it is a complete database, and then passes it to `validate`.
    ///
    /// Nothing has been changed at that point, so the file of another program is rejected unmodified.
    ///
    /// - Returns: the header.
    @discardableResult
    func inspect(_ validate: ((SQLiteConnection) throws -> Void)?) throws -> SQLiteHeader {
        try explainingTruncation { try beginRead() }
        let found: SQLiteHeader
        do {
            // The first statement of a connection that needs the file's schema reads all of it; `validate` runs one itself.
            if validate == nil { _ = try explainingTruncation { try int64("SELECT 1 FROM sqlite_schema LIMIT 1") } }
            // Inside the snapshot: while it is open and there is no log, no checkpoint can change the file.
            let hasLog = try hasLog
            found = try header(hasLog: hasLog)
            if !hasLog, let error = try truncationError(found) { throw error }
            inspectedHeader = found
            defer { inspectedHeader = nil }
            if let validate, found.pageCount > 0 { try validate(self) }
        } catch {
            rollback()
            throw error
        }
        try commit()
        return found
    }

    /// Runs what may be the first read of the file. If that fails because part of the file is missing, the error says so.
    func explainingTruncation<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as HabitStoreError where error.code == .corrupt || error.code == .notAStore {
            guard try !hasLog, let header = storedHeader() else { throw error }
            throw try truncationError(header, cause: error) ?? error
        }
    }

    /// The file's header in the current snapshot.
    ///
    /// With a log, the header in the file may be outdated. SQLite is asked instead, at the cost of a statement for each number.
    func header() throws -> SQLiteHeader { try inspectedHeader ?? header(hasLog: hasLog) }

    private func header(hasLog: Bool) throws -> SQLiteHeader {
        if !hasLog, let header = storedHeader(), header.isPageCountKept { return header }
        return SQLiteHeader(
            pageSizeBytes: try int64("PRAGMA page_size") ?? 0,
            pageCount: try int64("PRAGMA page_count") ?? 0,
            userVersion: try int64("PRAGMA user_version") ?? 0,
            isInUTF8: try texts("PRAGMA encoding") == ["UTF-8"],
            applicationID: try int64("PRAGMA application_id") ?? 0,
            isInLogMode: try texts("PRAGMA journal_mode") == ["wal"]
        )
    }

    private var hasLog: Bool { get throws { try SQLiteFiles.sizeBytes(of: path + "-wal") > 0 } }

    /// The error for a file that is shorter than its own header says; nil if it is not, or if that is unknown.
    ///
    /// SQLite makes this comparison too, but in whole pages, and reports "malformed". With a log nothing can be concluded.
    private func truncationError(_ header: SQLiteHeader, cause: HabitStoreError? = nil) throws -> HabitStoreError? {
        let expected = max(header.pageCount, cause == nil ? 0 : 1) * header.pageSizeBytes
        let actual = try SQLiteFiles.sizeBytes(of: path)
        guard actual < expected else { return nil }
        return HabitStoreError.damage(
            "the file is truncated: it has \(actual) bytes and its header speaks of \(expected); restore a backup",
            at: HabitStoreError.Location(path: path),
            underlying: cause?.underlying
        )
    }

    /// The header in the file. A short read fills the rest with zeros, so a file that is shorter than a header gets a zero page
    /// count.
    private func storedHeader() -> SQLiteHeader? {
        fileBytes(SQLiteHeader.length, at: 0, mayBeShort: true).flatMap(SQLiteHeader.init)
    }

    /// Bytes of the file, read through SQLite's own descriptor: closing another one would drop SQLite's locks. Nil if the file has
    /// fewer bytes or cannot be read.
    func fileBytes(_ count: Int, at position: Int64, mayBeShort: Bool = false) -> [UInt8]? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(handle.pointer, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
            let file, let read = file.pointee.pMethods?.pointee.xRead
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress, Int32($0.count), position) }
        return result == SQLITE_OK || mayBeShort && result == SQLITE_IOERR | 2 << 8 ? bytes : nil
    }

    /// Whether the path now leads to another file, or to none.
    package var hasMoved: Bool {
        var answer: Int32 = 0
        let result = sqlite3_file_control(handle.pointer, "main", SQLITE_FCNTL_HAS_MOVED, &answer)
        return result == SQLITE_OK && answer != 0
    }
}
