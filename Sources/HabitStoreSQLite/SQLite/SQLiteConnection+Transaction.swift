internal import CSQLite
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

extension SQLiteConnection {
    /// Whether a transaction is open. Some errors end it without a ROLLBACK.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle.pointer) == 0 }

    /// Whether a statement stands between its first row and its end.
    var isReading: Bool {
        var statement = sqlite3_next_stmt(handle.pointer, nil)
        while let found = statement {
            if sqlite3_stmt_busy(found) != 0 { return true }
            statement = sqlite3_next_stmt(handle.pointer, found)
        }
        return false
    }

    /// Begins a read transaction and reads once, so that the snapshot stands from here on.
    func beginRead() throws {
        try run("BEGIN DEFERRED")
        do {
            try readSchemaCookie()
        } catch {
            rollback()
            throw error
        }
    }

    /// Begins a write transaction: nobody else can write until it ends.
    func beginWrite() throws {
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

    /// Commits. A statement that still has rows is reset first: it would keep the snapshot open.
    func commit() throws {
        resetStatements()
        try run("COMMIT")
    }

    /// Ends the transaction without effect, if one is open. Gives false when even that failed: close the connection
    /// then.
    @discardableResult
    func rollback() -> Bool {
        resetStatements()
        guard isInTransaction else { return true }
        // The result says less than the state: whatever ROLLBACK answered, either the transaction is over or it is not.
        sqlite3_exec(handle.pointer, "ROLLBACK", nil, nil, nil)
        return !isInTransaction
    }

    /// Runs `body` inside of the open transaction so that a throw undoes what it did, and nothing else.
    ///
    /// Where even that fails the whole transaction is ended, and cannot be committed any more.
    func withSavepoint<T>(_ body: () throws -> T) throws -> T {
        // Outside of a transaction a savepoint would begin one.
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

    /// The error that ended the transaction before its time, for a body that went on after it.
    func prematureEndError() -> HabitStoreError {
        if let cause = handle.rollbackCause {
            return SQLiteError.make(cause, path: path, while: "an earlier statement of the transaction")
        }
        return HabitStoreError(
            .internalInconsistency,
            "the transaction was ended inside its own body; nothing was committed by it at the end",
            at: HabitStoreError.Location(path: path)
        )
    }

    /// Whether a commit that failed with this result has surely left nothing behind.
    ///
    /// BUSY and a constraint leave the transaction open. A full disk leaves a last frame that is cut off, which
    /// recovery does not accept, unless the library pads the log with further frames; it pads where the device may tear
    /// neighbouring bytes.
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
