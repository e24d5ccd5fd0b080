internal import CSQLite
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

extension SQLiteConnection {
    /// Whether a transaction is open. Some errors end it without a ROLLBACK.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle.pointer) == 0 }

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
    func beginRead() throws {
        try run("BEGIN DEFERRED")
        do {
            try readSchemaCookie()
        } catch {
            rollback()
            throw error
        }
    }

    /// Begins a write transaction, which excludes other writers until it ends.
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

    /// Commits. First resets statements with remaining rows, which would keep the snapshot open.
    func commit() throws {
        resetStatements()
        try run("COMMIT")
    }

    /// Rolls back the transaction if one is open. Returns false if even that failed; the connection must then be closed.
    @discardableResult
    func rollback() -> Bool {
        resetStatements()
        guard isInTransaction else { return true }
        // Whatever ROLLBACK returns, only the state tells if the transaction has ended.
        sqlite3_exec(handle.pointer, "ROLLBACK", nil, nil, nil)
        return !isInTransaction
    }

    /// Runs `body` in the open transaction. If it throws, only its own changes are undone.
    ///
    /// If that fails, the whole transaction is rolled back and can no longer be committed.
    func withSavepoint<T>(_ body: () throws -> T) throws -> T {
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
