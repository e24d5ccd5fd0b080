import Foundation
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
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
