import HabitStore

extension SQLiteSharedFile {
    /// The writer connection, after what a failed commit left open has been settled. Only inside the write lock.
    func settledWriter() throws -> SQLiteConnection {
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
        // Stays in doubt until all of this has worked.
        markOpenOutcome()
        retireReaders()
        writer?.close()
        writer = nil
        let fresh = try SQLiteConnection(path: path, mode: .readWrite, options: options)
        try fresh.inspect(nil)
        try Self.prepareWriter(fresh)
        try settle(fresh)
        writer = fresh
        clearOpenOutcome()
        return fresh
    }

    /// Decides the outcome of a commit that failed, for good.
    ///
    /// When no connection was left, recovery has read the log anew: if the failed commit is whole in there, it has
    /// happened, and copying it into the database makes it durable (the sync that failed may have dropped it from the
    /// disk's queue). When someone else kept the log's index alive, the commit is not in it and has not happened; but
    /// its frames lie behind the end of the log, and a later recovery would take them in, so they are written over.
    private func settle(_ connection: SQLiteConnection) throws {
        connection.setBusyTimeout(milliseconds: 0)
        if try !connection.checkpoint(.truncate) { try connection.overwriteLogEnd() }
        setCheckpointFailure(nil)
    }

    /// Closes all connections. The last user of the log empties it, if nobody else is at it.
    func close() throws {
        retireReaders()
        guard let last = writer else { return }
        writer = nil
        defer { last.close() }
        // In doubt, the log is left as it is: opening it again settles it.
        guard !hasOpenOutcome, !last.hasMoved, try processLock.tryAcquire() else { return }
        defer { processLock.release() }
        last.setBusyTimeout(milliseconds: 0)
        // Incomplete when another process still reads: then that log stays, and loses nothing.
        _ = try last.checkpoint(.truncate)
    }
}
