internal import CSQLite
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

extension SQLiteSharedFile {
    /// Prepares a connection for committing, and verifies its settings. The caller must hold the write lock.
    static func prepareWriter(_ connection: SQLiteConnection) throws {
        try connection.enterLogMode()
        try connection.requireFullSynchronization()
    }

    /// Copies a log that exists at opening into the database.
    ///
    /// After a crash, the log can contain a commit that is in memory but not on the disk: after a failed sync such pages stay there,
    /// marked as written. The copy is synced, so that what the store shows also survives a power cut. The copy may be incomplete,
    /// and if it fails the store can still be read: `lastCheckpointFailure` keeps the reason.
    func adoptLog(_ connection: SQLiteConnection) throws {
        guard try SQLiteFiles.sizeBytes(of: path + "-wal") > 0 else { return }
        do {
            _ = try connection.checkpoint(.passive)
        } catch let error as HabitStoreError {
            setCheckpointFailure(error)
        }
    }

    /// Opens a store for writing without its writer, which the first write opens: many stores are only read.
    ///
    /// - Returns: the first reader; nil if opening needs the writer: the file is empty or in another journal mode, it has a log to
    ///   copy or a journal to roll back (from a process that was killed while it created the store), or it cannot be written. The
    ///   log of a file with several names is left to a later writer.
    static func openReaderFirst(
        path: String,
        status: SQLiteFileStatus,
        options: SQLiteOptions,
        validate: ((SQLiteConnection) throws -> Void)?
    ) throws -> SQLiteConnection? {
        guard status.sizeBytes > 0, SQLiteFiles.isWritable(path),
            try status.nameCount > 1 || SQLiteFiles.sizeBytes(of: path + "-wal") == 0,
            try SQLiteFiles.sizeBytes(of: path + "-journal") == 0
        else { return nil }
        let reader = try SQLiteConnection(prepared: path, mode: .readOnly, options: options)
        guard try reader.inspect(validate).isInLogMode else {
            reader.close()
            return nil
        }
        return reader
    }

    /// Refuses to write to a file with several names: the log of one name is unknown to the others.
    static func requireOneName(_ status: SQLiteFileStatus?, path: String) throws {
        guard let status, status.nameCount > 1 else { return }
        let (file, copy) = (ShellWord.quoted(path), ShellWord.quoted(path + ".own"))
        throw HabitStoreError(
            .unsupported,
            "the file has \(status.nameCount) names (hard links), and its log belongs to one only; nothing was written: close it "
                + "everywhere and replace it by a copy: `cp -p \(file) \(copy) && mv \(copy) \(file)`",
            at: HabitStoreError.Location(path: path)
        )
    }

    /// Opens the writer that opening has left to the first write. Only inside the write lock.
    func openWriter() throws -> SQLiteConnection {
        try Self.requireOneName(try SQLiteFiles.status(of: path), path: path)
        let connection = try SQLiteConnection(path: path, mode: .readWrite, options: options)
        try connection.inspect(nil)
        try Self.prepareWriter(connection)
        try adoptLog(connection)
        return connection
    }

    /// Opens a reader in addition to the writer.
    func openReader(generation: Int) throws -> SQLiteConnection {
        let reader = try SQLiteConnection(
            prepared: try SQLiteFiles.prepare(path, mode: .readOnly).path,
            mode: .readOnly,
            options: options,
            isImmutable: frozenStatus != nil,
            checksLog: false
        )
        if isWritable { try reader.requireLogMode() }
        reader.generation = generation
        return reader
    }

    /// Opens a file for reading only, in whatever journal mode it is.
    ///
    /// WAL mode needs a shared memory file, which cannot be created in a read-only folder. Without a log, the database file alone
    /// is complete and can be read without locks.
    static func openForReading(
        path: String,
        options: SQLiteOptions,
        validate: ((SQLiteConnection) throws -> Void)?
    ) throws -> (connection: SQLiteConnection, frozenStatus: SQLiteFileStatus?) {
        do {
            let connection = try SQLiteConnection(prepared: path, mode: .readOnly, options: options)
            try connection.inspect(validate)
            return (connection, nil)
        } catch let error as HabitStoreError {
            guard let result = error.underlying as? SQLiteResult, isRefusalOfSharedMemory(result) else { throw error }
            return try openFrozen(path: path, options: options, cause: error, validate: validate)
        }
    }

    private static func openFrozen(
        path: String,
        options: SQLiteOptions,
        cause: HabitStoreError,
        validate: ((SQLiteConnection) throws -> Void)?
    ) throws -> (connection: SQLiteConnection, frozenStatus: SQLiteFileStatus?) {
        // Taken before the file is opened, so that the check at the end of the first read also notices a change while it is being
        // opened.
        guard let status = try SQLiteFiles.status(of: path) else { throw cause }
        guard try SQLiteFiles.sizeBytes(of: path + "-wal") == 0 else {
            throw HabitStoreError(
                .permissionDenied,
                "the write-ahead log (-wal) of the store cannot be read here: the folder or the log does not allow it; "
                    + "copy the three files (the store, -wal, -shm) to a folder that can be written and open the copy",
                at: HabitStoreError.Location(path: path),
                underlying: cause.underlying
            )
        }
        let connection = try SQLiteConnection(prepared: path, mode: .readOnly, options: options, isImmutable: true)
        try connection.inspect(validate)
        return (connection, status)
    }

    private static func isRefusalOfSharedMemory(_ result: SQLiteResult) -> Bool {
        switch result.primary {
        case SQLITE_CANTOPEN, SQLITE_PERM: return true
        case SQLITE_READONLY:
            // Except for a rollback journal that must be rolled back (3) and a file that was moved (4).
            return result.code >> 8 != 3 && result.code >> 8 != 4
        case SQLITE_IOERR:
            // SHMOPEN, SHMSIZE, SHMLOCK, SHMMAP.
            return (18...21).contains(result.code >> 8)
        default: return false
        }
    }
}
