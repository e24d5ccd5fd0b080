import CLMDB
import Dispatch
import Foundation
import HabitStore

extension LMDBEnvironmentCore {
    func beginWrite(for owner: LMDBEnvironment, until deadline: DispatchTime) throws -> LMDBTransaction {
        let thread = LMDBPlatform.currentThread
        return try entering(owner) {
            guard !owner.isReadOnly else {
                throw LMDBError.error(.permissionDenied, "the store was opened read-only", path: path)
            }
            try takeTurn(thread, until: deadline)
            do {
                let handle = try startWriter(thread, for: owner, until: deadline)
                return LMDBTransaction(core: self, handle: handle, snapshot: nil, databaseCount: databaseNames.count)
            } catch {
                writerThread = nil
                isWriterInside = false
                wake()
                throw error
            }
        }
    }

    /// Runs `body` on this thread inside the write transaction of another thread, which waits meanwhile.
    func lendingTurn<T>(_ body: () throws -> T) rethrows -> T {
        let owner = exchangeWriterThread(LMDBPlatform.currentThread)
        defer { _ = exchangeWriterThread(owner) }
        return try body()
    }

    private func exchangeWriterThread(_ thread: UInt?) -> UInt? {
        gate.lock()
        defer { gate.unlock() }
        let owner = writerThread
        writerThread = thread
        return owner
    }

    func abortWrite(_ transaction: LMDBTransaction, for owner: LMDBEnvironment) {
        if let handle = transaction.takeHandle() {
            mdb_txn_abort(handle)
            noteWriteEnd()
        }
        endWrite(for: owner)
    }

    func commitWrite(_ transaction: LMDBTransaction, for owner: LMDBEnvironment) throws {
        // A body that swallowed an error must not commit what LMDB did only in part.
        if let failure = transaction.failure {
            abortWrite(transaction, for: owner)
            throw failure
        }
        do {
            // Checked last: a file that was replaced while the closure ran must not receive the commit either.
            try requireUnmoved()
        } catch {
            abortWrite(transaction, for: owner)
            throw error
        }
        guard let handle = transaction.takeHandle() else {
            endWrite(for: owner)
            throw LMDBTransaction.ended(path)
        }
        // LMDB frees the transaction and its lock, whatever it returns.
        let returnCode = mdb_txn_commit(handle)
        // After a disk error the file is reopened, and nothing is known about it.
        if returnCode > 0 { soundness.forget() } else { noteWriteEnd() }
        let failure = returnCode == 0 ? nil : commitError(returnCode)
        endWrite(for: owner, returnCode: returnCode)
        if let failure { throw failure }
    }

    /// Waits until no other thread of the process writes; the gate is locked.
    private func takeTurn(_ thread: UInt, until deadline: DispatchTime) throws {
        guard writerThread != thread else { throw HabitStoreError.nestedWrite(path: path) }
        if writerThread != nil {
            let now = DispatchTime.now().uptimeNanoseconds
            let left = deadline.uptimeNanoseconds > now ? deadline.uptimeNanoseconds - now : 0
            let deadline = Date(timeIntervalSinceNow: Double(left) / 1_000_000_000)
            while writerThread != nil {
                guard wait(until: deadline) || writerThread == nil else { throw HabitStoreError.busyWriter(path: path) }
            }
        }
        writerThread = thread
    }

    /// Begins LMDB's transaction; this thread is the writer and the gate is locked. Does not write to a store that was closed while
    /// this thread waited for its turn or for the file.
    private func startWriter(
        _ thread: UInt,
        for owner: LMDBEnvironment,
        until deadline: DispatchTime
    ) throws -> OpaquePointer {
        for _ in 0..<Self.maximumBeginAttempts {
            try waitForExclusiveThread(thread)
            try checkOpen(owner)
            try reopenIfNeeded()
            try growIfNeeded()
            try checkOpen(owner)
            // Growing may have unlocked the gate, so check again before going inside.
            guard exclusiveThread == nil || isInside(thread), !needsReopen, let environment else { continue }
            isWriterInside = true
            var handle: OpaquePointer?
            // The gate is unlocked during this wait for writers of other processes, because readers must not wait.
            gate.unlock()
            let result = Result { try beginAlone(environment, &handle, until: deadline) }
            gate.lock()
            if case .success(0) = result, let handle { return handle }
            isWriterInside = false
            wake()
            try recover(from: try result.get(), during: "beginning to write")
        }
        throw busy("the file changed its size again and again")
    }

    /// Acquires the ``LMDBWriterLock`` and begins a transaction. On success, the lock is held until ``endWrite(for:returnCode:)``.
    ///
    /// - Returns: LMDB's return code.
    private func beginAlone(
        _ environment: OpaquePointer,
        _ handle: inout OpaquePointer?,
        until deadline: DispatchTime
    ) throws -> Int32 {
        var descriptor: mdb_filehandle_t = -1
        let found = mdb_env_get_fd(environment, &descriptor)
        guard found == 0 else { return found }
        try LMDBWriterLock.take(descriptor, until: deadline, path: path)
        var returnCode: Int32 = 0
        do {
            // Checked after the wait: the closure must not run for a file that is gone.
            try requireUnmoved()
            returnCode = mdb_txn_begin(environment, nil, 0, &handle)
        } catch {
            LMDBWriterLock.release(descriptor)
            throw error
        }
        guard returnCode == 0, let handle else {
            LMDBWriterLock.release(descriptor)
            return returnCode
        }
        noteWriteBeginning(transaction: UInt64(mdb_txn_id(handle)))
        return 0
    }

    /// Releases the ``LMDBWriterLock``; the writer is still inside, so the descriptor is open.
    private func releaseWriterLock() {
        var descriptor: mdb_filehandle_t = -1
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0 else { return }
        LMDBWriterLock.release(descriptor)
    }

    /// The number of pages up to which a database is walked before its first write. A larger one is trusted as long as its mark is
    /// valid.
    private static let mostPagesWalked: UInt64 = 2_048

    /// Walks a database before the first write to it since the file was opened, whatever the mark says: liblmdb follows page
    /// references even out of the file. The caller has the write transaction, so no other commit changes these pages.
    func checkDatabase(_ database: LMDBDatabase) throws {
        let source = try pageSource()
        let walker = try LMDBFileWalker(source: source, header: try LMDBFileInspector.soundHeader(source))
        if let found = try walker.namedTrees()[Array(database.name.utf8)], found.tree.pages <= Self.mostPagesWalked {
            try walker.walk(found)
        }
        try walker.requireUndamaged()
        checkedDatabases[database.index] = true
    }

    private func endWrite(for owner: LMDBEnvironment, returnCode: Int32 = 0) {
        // Released after the file was marked: the next writer of another process finds the mark that it continues.
        releaseWriterLock()
        gate.lock()
        if returnCode == MDB_MAP_FULL {
            isGrowthWanted = true
        } else if returnCode != 0 {
            needsReopen = true
        }
        writesSinceReaderCheck += 1
        if writesSinceReaderCheck >= options.writesPerReaderCheck { checkReaders() }
        writerThread = nil
        isWriterInside = false
        wake()
        leave(owner)
    }

    /// LMDB's own codes come from before the first write to the file, so nothing has changed. An `errno` comes from writing or
    /// syncing: only reading the file again tells if it has the commit.
    private func commitError(_ returnCode: Int32) -> HabitStoreError {
        let cause = LMDBError.error(returnCode, during: "committing", path: path)
        guard returnCode > 0 else { return cause }
        return HabitStoreError(
            .outcomeUnknown,
            "the commit failed and may or may not be in the file; read it again before deciding (\(cause.message))",
            at: .init(path: path),
            underlying: cause
        )
    }
}
