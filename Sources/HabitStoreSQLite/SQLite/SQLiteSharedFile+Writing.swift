import Foundation
import HabitStore

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
    func lendingTurn<T>(_ body: () throws -> T) rethrows -> T {
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
        let connection = try settledWriter()
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
