import HabitStore

extension SQLiteSharedFile {
    /// The writer connection, after resolving the outcome of a failed commit. Only inside the write lock.
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
        // Stays in doubt until all of this has succeeded.
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

    /// Resolves the outcome of a failed commit for good.
    ///
    /// If no connection was left, recovery has read the log again: if the failed commit is complete there, it has happened, and
    /// copying it into the database makes it durable (the sync that failed may have dropped it from the disk's queue). If another
    /// process kept the log's index alive, the commit is not in it and has not happened, but its frames lie after the end of the
    /// log, where a later recovery would pick them up, so they are overwritten.
    private func settle(_ connection: SQLiteConnection) throws {
        connection.setBusyTimeout(milliseconds: 0)
        if try !connection.checkpoint(.truncate) { try connection.overwriteLogEnd() }
        setCheckpointFailure(nil)
    }

    /// Closes all connections. The last user of the log empties it, if no other process is using it.
    func close() throws {
        retireReaders()
        guard let last = writer else { return }
        writer = nil
        defer { last.close() }
        // In doubt, the log is left unchanged: the next opening resolves the outcome.
        guard !hasOpenOutcome, !last.hasMoved, try processLock.tryAcquire() else { return }
        defer { processLock.release() }
        last.setBusyTimeout(milliseconds: 0)
        // Incomplete if another process is still reading; the log then remains, with everything in it.
        _ = try last.checkpoint(.truncate)
    }
}
