internal import CSQLite
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// How hard a checkpoint tries.
enum SQLiteCheckpointMode: Sendable {
    /// Copies what no reader still needs, and waits for nobody.
    case passive
    /// Copies everything and lets the next writer start the log afresh; waits for readers as long as the busy timeout.
    case restart
    /// As `restart`, and cuts the log's file to nothing.
    case truncate
}

extension SQLiteConnection {
    /// Copies the log into the database file. Only for the holder of the store's write lock.
    ///
    /// Gives true when nothing is left in the log that is not in the file, and false when readers were in the way. Throws before anything is
    /// copied if the file was exchanged in place, for an older one for example.
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

    /// Commits a change of nothing: writes the first page as it is.
    ///
    /// A frame of a commit that failed may still lie behind the end of the log, valid, and recovery would take it in.
    /// This commit is written over it.
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
