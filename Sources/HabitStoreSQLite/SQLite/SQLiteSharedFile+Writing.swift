import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension SQLiteSharedFile {
    /// At this multiple of the log's limit, a checkpoint briefly waits for readers that are in its way.
    private static let urgentLogFactor = 8
    private static let urgentWaitMilliseconds: Int32 = 100

    /// The deadline of a write that begins now.
    var writeDeadline: Deadline { .after(seconds: options.busyLimitSeconds) }

    /// Runs `body` on this thread inside the write transaction of another thread, which waits meanwhile.
    func lendingWriterLock<T>(_ body: () throws -> T) rethrows -> T {
        let owner = exchangeWriterThread(pthread_self())
        defer { setWriterThread(owner) }
        return try body()
    }

    /// Runs `body` in a write transaction, which is committed and durable when this method returns and has no effect if it throws.
    ///
    /// After `.outcomeUnknown` alone, the transaction may have happened; read again to find out.
    func withWrite<T>(until deadline: Deadline, _ body: (SQLiteConnection) throws -> T) throws -> T {
        return try withWriteLock(until: deadline) { connection in
            connection.setBusyTimeout(milliseconds: deadline.remainingMilliseconds)
            try connection.beginWrite()
            let value: T
            do {
                value = try body(connection)
                guard connection.isInTransaction else { throw connection.prematureEndError() }
                // Checked last: a file that was replaced while the closure ran must not receive the commit either.
                try requireUnmoved()
            } catch {
                rollBack(connection)
                throw error
            }
            try commit(connection)
            endSparing(connection)
            checkpointIfDue(connection)
            return value
        }
    }

    /// Runs `body` as the only writer and checkpointer, in this process and among all.
    func withWriteLock<T>(until deadline: Deadline, _ body: (SQLiteConnection) throws -> T) throws -> T {
        guard !isHeldByThisThread else { throw HabitStoreError.nestedWrite(path: path) }
        guard writerGate.enter(until: deadline) else { throw HabitStoreError.busyWriter(path: path) }
        setWriterThread(pthread_self())
        defer {
            setWriterThread(nil)
            writerGate.leave()
        }
        // Checked before the wait too: the lock's file would be searched where the path leads now.
        try requireUnmoved()
        try processLock.acquire(until: deadline)
        defer { processLock.release() }
        let connection = try resolvedWriter()
        try requireUnmoved()
        return try body(connection)
    }

    /// Throws if the path no longer leads to the open file, before a read.
    func requireInPlace() throws { try requireUnmoved("") }

    /// Throws if the path no longer leads to the open file: a commit would go into a file without a name, and be lost when the
    /// process that it was acknowledged to ends.
    ///
    /// The inode of an open file is not reused, so the device and the inode identify it. SQLite would compare only the inode, which
    /// a file on another disk may share.
    ///
    /// - Parameter consequence: what the error adds for writers.
    private func requireUnmoved(_ consequence: String = "nothing was written; ") throws {
        if try SQLiteFiles.status(of: path)?.identity == identity { return }
        throw HabitStoreError(
            .fileMoved,
            "the file was moved, deleted or replaced while it was open; \(consequence)close the store and open it again",
            at: HabitStoreError.Location(path: path)
        )
    }

    /// Copies the whole log into the database and empties it; false if readers are in the way.
    func checkpoint() throws -> Bool {
        let deadline = Deadline.after(seconds: options.busyLimitSeconds)
        return try withWriteLock(until: deadline) { connection in
            connection.setBusyTimeout(milliseconds: deadline.remainingMilliseconds)
            let isComplete = try connection.checkpoint(.truncate)
            setCheckpointFailure(nil)
            return isComplete
        }
    }

    private func commit(_ connection: SQLiteConnection) throws {
        do {
            try connection.commit()
        } catch let error as HabitStoreError {
            let isAbsent = connection.isKnownAbsent(after: error.underlying as? SQLiteResult)
            rollBack(connection)
            if isAbsent { throw error }
            markOpenOutcome()
            throw HabitStoreError(
                .outcomeUnknown,
                "the commit failed but may have taken effect; read again what it would have written",
                at: HabitStoreError.Location(path: path),
                underlying: error
            )
        }
    }

    private func rollBack(_ connection: SQLiteConnection) {
        // A connection that cannot roll back is replaced before its next use.
        if !connection.rollback() { markOpenOutcome() }
    }

    /// The transaction is already durable, so a failed checkpoint does not make it fail: the log keeps what was not copied, and the
    /// next commit tries again. The reason is available in `lastCheckpointFailure`.
    private func checkpointIfDue(_ connection: SQLiteConnection) {
        let limit = max(1, options.checkpointPages)
        guard connection.logPages >= limit else { return }
        do {
            _ = try connection.checkpoint(.passive)
            if connection.logPages >= limit * Self.urgentLogFactor {
                connection.setBusyTimeout(milliseconds: Self.urgentWaitMilliseconds)
                _ = try connection.checkpoint(.restart)
            }
            setCheckpointFailure(nil)
        } catch let error as HabitStoreError {
            setCheckpointFailure(error)
        } catch {
            setCheckpointFailure(HabitStoreError(.internalInconsistency, "a checkpoint failed", underlying: error))
        }
    }
}

extension SQLiteSharedFile {
    /// The writer connection, after resolving the outcome of a failed commit. Only inside the write lock.
    func resolvedWriter() throws -> SQLiteConnection {
        if let writer, !hasOpenOutcome { return writer }
        guard isWritable else {
            throw HabitStoreError(
                .permissionDenied,
                "the store is open for reading only; open it for writing",
                at: HabitStoreError.Location(path: path)
            )
        }
        if writer == nil, !hasOpenOutcome {
            let opened = try openWriter()
            writer = opened
            return opened
        }
        // Stays in doubt until all of this has succeeded.
        markOpenOutcome()
        retireReaders()
        writer?.close()
        writer = nil
        let fresh = try SQLiteConnection(path: path, mode: .readWrite, options: options)
        try fresh.inspect(nil)
        try Self.prepareWriter(fresh)
        try resolveOutcome(fresh)
        writer = fresh
        clearOpenOutcome()
        return fresh
    }

    /// Resolves the outcome of a failed commit for good.
    ///
    /// If no connection was left, recovery has read the log again: if the failed commit is complete there, it has happened, and
    /// copying it into the database makes it durable (the sync that failed may have dropped it from the disk's queue). If another
    /// process kept the log's index alive, the commit is not in it and has not happened, but its frames lie after the end of the
    /// log, where a later recovery would pick them up, so they are overwritten.
    private func resolveOutcome(_ connection: SQLiteConnection) throws {
        connection.setBusyTimeout(milliseconds: 0)
        if try !connection.checkpoint(.truncate) { try connection.overwriteLogEnd() }
        setCheckpointFailure(nil)
    }

    /// Closes all connections. The last user of the log empties it, if no other process is using it and it has been adopted.
    func close() throws {
        retireReaders()
        guard let last = writer else { return }
        writer = nil
        defer { last.close() }
        // In doubt, the log is left unchanged: the next opening resolves the outcome.
        guard !hasOpenOutcome, !sparesLog, !last.hasMoved, try processLock.tryAcquire() else { return }
        defer { processLock.release() }
        last.setBusyTimeout(milliseconds: 0)
        // Incomplete if another process is still reading; the log then remains, with everything in it.
        _ = try last.checkpoint(.truncate)
    }
}

/// An advisory lock between processes, on a file next to the store, so that one process at a time writes or checkpoints.
///
/// SQLite's own locks would be enough, except for a defect up to 3.51.2: two connections that restart the log at the same instant
/// can damage it (https://www.sqlite.org/wal.html#walresetbug). The lock file is deliberately never deleted, because then two
/// processes could lock different files with the same name. Not thread-safe; its owner lets one thread at a time use it.
final class SQLiteProcessLock {
    private static let pauses = AdvisoryLock.Pauses(microseconds: 250...4_000)

    let path: String
    private var descriptor: Int32 = -1

    /// The lock of the store at a canonical path.
    init(storePath: String) { path = storePath + "-lock" }

    deinit { closeDescriptor() }

    /// Acquires the lock, waiting until the deadline; then throws `.busy`.
    func acquire(until deadline: Deadline) throws {
        guard try AdvisoryLock.wait(Self.pauses, while: { !deadline.hasPassed }, for: tryAcquire) else {
            throw HabitStoreError(
                .busy,
                "another process holds the write lock of the store longer than the stated wait; try again later",
                at: HabitStoreError.Location(path: path)
            )
        }
    }

    /// Acquires the lock if it is free.
    func tryAcquire() throws -> Bool {
        if descriptor < 0 { try openDescriptor() }
        do {
            guard try AdvisoryLock.exclusive.tryTake(descriptor, path: path) else { return false }
        } catch {
            throw SQLiteError.system(error.number, path: path, while: "locking the lock file")
        }
        // A lock on a file that was deleted or replaced meanwhile excludes no other process.
        if try isCurrent() { return true }
        closeDescriptor()
        return false
    }

    /// Releases the lock.
    func release() {
        guard descriptor >= 0 else { return }
        AdvisoryLock.release(descriptor)
    }

    private func openDescriptor() throws {
        do {
            descriptor = try OpenFile.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        } catch {
            throw SQLiteError.system(error.number, path: path, while: "opening the lock file")
        }
    }

    private func closeDescriptor() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
    }

    private func isCurrent() throws -> Bool {
        var mine = stat()
        guard fstat(descriptor, &mine) == 0 else {
            throw SQLiteError.system(errno, path: path, while: "looking at the lock file")
        }
        guard let named = try SQLiteFiles.status(of: path) else { return false }
        return named.identity.inode == UInt64(mine.st_ino)
            && named.identity.device == UInt64(truncatingIfNeeded: mine.st_dev)
    }
}
