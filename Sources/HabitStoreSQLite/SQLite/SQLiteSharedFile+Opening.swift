internal import CSQLite
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

extension SQLiteSharedFile {
    /// Puts a connection that holds the write lock into the state in which it may commit, and checks that it is so.
    static func prepareWriter(_ connection: SQLiteConnection) throws {
        try connection.enterLogMode()
        try connection.requireFullSynchronization()
    }

    /// Copies a log that was found at open into the database.
    ///
    /// After a crash it can hold a commit that is in memory and not on the disk: a failed sync leaves such pages
    /// behind, marked as written. The copy is synced, so that what the store shows is what a power cut leaves. It need
    /// not be complete, and where it fails the store can still be read: the reason is kept in `lastCheckpointFailure`.
    func adoptLog(_ connection: SQLiteConnection) throws {
        guard try SQLiteFiles.sizeBytes(of: path + "-wal") > 0 else { return }
        do {
            _ = try connection.checkpoint(.passive)
        } catch let error as HabitStoreError {
            setCheckpointFailure(error)
        }
    }

    /// Opens a store for writing without its writer, which the first write opens: many are only read.
    ///
    /// - Returns: the first reader; nil where there is something that only the writer may do, or find out: the file is
    ///   empty, or in another journal mode; it has a log to be adopted, or a journal to be played back, which a process
    ///   that was killed while it made the store leaves; or it cannot be written. Of a file with several names the log is left to
    ///   a writer that may come once there is one.
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

    /// Refuses to write to a file that has several names: the log of one of them is unknown to the others.
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

    /// Opens the writer that an opening has left to the first write. Only inside the write lock.
    func openWriter() throws -> SQLiteConnection {
        try Self.requireOneName(try SQLiteFiles.status(of: path), path: path)
        let connection = try SQLiteConnection(path: path, mode: .readWrite, options: options)
        try connection.inspect(nil)
        try Self.prepareWriter(connection)
        try adoptLog(connection)
        return connection
    }

    /// Opens a reader beside the writer.
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

    /// Opens a file that is only read, in whatever journal mode it is.
    ///
    /// The log mode needs a file of shared memory, which cannot be made in a folder that cannot be written. Without a
    /// log the database file alone is the whole truth, and can be read without locks.
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
        // Taken before the file is opened, so that a change while it is being opened shows at the end of the first
        // read.
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
            // A rollback journal that needs to be played back (3), or a file that was moved (4), is another matter.
            return result.code >> 8 != 3 && result.code >> 8 != 4
        case SQLITE_IOERR:
            // SHMOPEN, SHMSIZE, SHMLOCK, SHMMAP.
            return (18...21).contains(result.code >> 8)
        default: return false
        }
    }
}
