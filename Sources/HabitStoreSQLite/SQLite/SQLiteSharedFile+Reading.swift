@_spi(Engines) import HabitStore

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
