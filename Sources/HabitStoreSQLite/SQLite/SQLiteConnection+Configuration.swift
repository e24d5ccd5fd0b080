internal import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

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
    func requireFullSynchronization() throws {
        try exec("PRAGMA synchronous = FULL")
        guard try int64("PRAGMA synchronous") == 2 else {
            throw HabitStoreError(
                .unsupported,
                "SQLite did not accept synchronous=FULL, so a commit would not be durable; use another build of it",
                at: HabitStoreError.Location(path: path)
            )
        }
    }

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
