internal import CSQLite
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

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
