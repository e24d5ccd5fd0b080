internal import CSQLite
import Foundation
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

#if canImport(SQLite3)
internal import SQLite3
#endif

/// A database file that this process has open: one writer connection, a bounded pool of readers, and the locks.
///
/// Guarantees, also between processes that all use this code:
/// - there is one writer or checkpointer at any instant: both hold `writerGate` and then `processLock`;
/// - an acknowledged commit is on the disk (`synchronous=FULL`, verified at opening);
/// - the outcome of a failed commit is resolved before any later transaction begins.
///
/// `@unchecked`: `writer` and `processLock` belong to the thread inside `writerGate`; `lock` guards the other variables.
final class SQLiteSharedFile: @unchecked Sendable {
    let path: String
    let identity: SQLiteFileStatus.Identity
    let isWritable: Bool
    let options: SQLiteOptions
    let writerGate = FairGate(places: 1)
    let readerGate: FairGate
    let processLock: SQLiteProcessLock
    /// The writer connection; nil before the first write, if the store is open read-only, after closing, and after a failed
    /// reopening.
    var writer: SQLiteConnection?
    /// The state of a file that is read without locks and so must not change; nil for every other file.
    let frozenStatus: SQLiteFileStatus?

    private let lock = NSLock()
    private var idleReaders: [SQLiteConnection] = []
    private var generation = 0
    private var isInDoubt = false
    private var isLogSpared = false
    private var writerThread: pthread_t?
    private var checkpointFailure: HabitStoreError?

    /// Opens the file, which `SQLiteFiles.prepare` has examined.
    init(
        path: String,
        status: SQLiteFileStatus,
        mode: SQLiteOpenMode,
        options: SQLiteOptions,
        validate: ((SQLiteConnection) throws -> Void)?
    ) throws {
        self.path = path
        self.options = options
        identity = status.identity
        isWritable = mode.isWritable
        readerGate = FairGate(places: options.maximumReaders)
        processLock = SQLiteProcessLock(storePath: path)
        guard mode.isWritable else {
            let first = try Self.openForReading(path: path, options: options, validate: validate)
            frozenStatus = first.frozenStatus
            idleReaders = [first.connection]
            return
        }
        frozenStatus = nil
        if let reader = try Self.openReaderFirst(path: path, status: status, options: options, validate: validate) {
            idleReaders = [reader]
            return
        }
        // With a log, or in another journal mode, the writer opens the file.
        try Self.requireOneName(status, path: path)
        let connection = try SQLiteConnection(prepared: path, mode: mode, options: options)
        // Before anything is written: the file of another program remains unchanged, and gets no lock file.
        let header = try connection.inspect(validate)
        if try !processLock.tryAcquire() {
            // Another process is writing, has already copied the log, and may take long: readers need not wait for it. The first
            // write opens the writer, and copies whatever log there is then.
            if header.isInLogMode, try SQLiteFiles.sizeBytes(of: path + "-journal") == 0 {
                connection.close()
                idleReaders = [try SQLiteConnection(prepared: path, mode: .readOnly, options: options)]
                return
            }
            try processLock.acquire(until: .after(seconds: options.busyLimitSeconds))
        }
        defer { processLock.release() }
        try Self.prepareWriter(connection)
        writer = connection
        try adoptLog(connection)
    }

    /// Why the last checkpoint failed; nil if it succeeded. A failure loses nothing, but the log grows.
    var lastCheckpointFailure: HabitStoreError? { lock.withLock { checkpointFailure } }

    /// Whether the log must not be emptied before the next commit.
    private(set) var sparesLog: Bool {
        get { lock.withLock { isLogSpared } }
        set { lock.withLock { isLogSpared = newValue } }
    }

    /// Whether the calling thread is inside a write transaction of this file.
    var isHeldByThisThread: Bool {
        lock.withLock { writerThread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    func setWriterThread(_ thread: pthread_t?) { lock.withLock { writerThread = thread } }

    /// Sets the thread of the write transaction, and returns the previous one.
    func exchangeWriterThread(_ thread: pthread_t) -> pthread_t? {
        lock.withLock {
            defer { writerThread = thread }
            return writerThread
        }
    }

    func setCheckpointFailure(_ error: HabitStoreError?) { lock.withLock { checkpointFailure = error } }

    /// Whether the outcome of a commit is unknown.
    var hasOpenOutcome: Bool { lock.withLock { isInDoubt } }

    /// Makes the next transaction close all connections and resolve the outcome of the last commit.
    func markOpenOutcome() { lock.withLock { isInDoubt = true } }

    func clearOpenOutcome() { lock.withLock { isInDoubt = false } }

    /// Closes the idle readers; the others are closed when they are returned.
    func retireReaders() {
        let retired = lock.withLock {
            generation += 1
            defer { idleReaders.removeAll() }
            return idleReaders
        }
        for reader in retired { reader.close() }
    }

    /// An idle reader, or nil and the generation of a new one.
    func takeIdleReader() -> (reader: SQLiteConnection?, generation: Int) {
        lock.withLock { (idleReaders.popLast(), generation) }
    }

    /// Keeps a reader for later use, or closes it if it is damaged, from before a reopening, or one too many.
    func keepOrClose(_ reader: SQLiteConnection, isHealthy: Bool) {
        let isKept = lock.withLock {
            let isKept = isHealthy && reader.generation == generation && idleReaders.count < options.idleReaders
            if isKept { idleReaders.append(reader) }
            return isKept
        }
        if !isKept { reader.close() }
    }
}

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
    ///
    /// A log with a commit that SQLite does not read stays unchanged until a transaction has been committed. Callers that know the commit to be
    /// acknowledged refuse the store before that, so its records can still be saved.
    func adoptLog(_ connection: SQLiteConnection) throws {
        sparesLog = connection.dropsCommit
        guard !sparesLog else { return }
        try copyLog(connection)
    }

    /// Ends the protection of a log, after a commit.
    func endSparing(_ connection: SQLiteConnection) {
        guard sparesLog else { return }
        sparesLog = false
        // Throws only if the size of the log is unknown, and the commit is durable already.
        try? copyLog(connection)
    }

    private func copyLog(_ connection: SQLiteConnection) throws {
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

extension SQLiteSharedFile {
    /// Runs `body` on one snapshot.
    func withRead<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
        try withReader { connection in
            try connection.beginRead()
            let value: T
            do {
                value = try body(connection)
            } catch {
                connection.rollback()
                throw error
            }
            guard connection.isInTransaction else { throw connection.prematureEndError() }
            do {
                try connection.commit()
            } catch {
                connection.rollback()
                throw error
            }
            return value
        }
    }

    /// Lends a reader connection outside a transaction.
    func withReader<T>(_ body: (SQLiteConnection) throws -> T) throws -> T {
        let deadline = Deadline.after(seconds: options.busyLimitSeconds)
        // Inside this thread's write transaction no outcome can be open: it was resolved when the transaction began.
        if hasOpenOutcome, !isHeldByThisThread { try withWriteLock(until: deadline) { _ in } }
        guard readerGate.enter(until: deadline) else {
            throw HabitStoreError(
                .busy,
                "\(options.maximumReaders) reads are open and none ended within the stated wait; try again later",
                at: HabitStoreError.Location(path: path)
            )
        }
        defer { readerGate.leave() }
        let idle = takeIdleReader()
        let reader = try idle.reader ?? openReader(generation: idle.generation)
        defer { keepOrClose(reader, isHealthy: !reader.isInTransaction) }
        let result: T
        do {
            result = try body(reader)
        } catch {
            // The change of the file alone may explain the error.
            try requireUnchangedFile()
            throw error
        }
        try requireUnchangedFile()
        return result
    }

    /// A file that is read without locks may have changed under the reader, who then saw parts of two states.
    private func requireUnchangedFile() throws {
        guard let frozenStatus else { return }
        let now = try SQLiteFiles.status(of: path)
        let logBytes = try SQLiteFiles.sizeBytes(of: path + "-wal")
        guard now == frozenStatus, logBytes == 0 else {
            throw HabitStoreError(
                .busy,
                "the store was changed by another process while it was read without locks, which the mode of its "
                    + "folder forces; open it again, or read a copy",
                at: HabitStoreError.Location(path: path)
            )
        }
    }
}
