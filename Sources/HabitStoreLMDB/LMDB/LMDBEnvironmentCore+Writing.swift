import CLMDB
import Dispatch
import DurableFiles
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
    func lendingWriterLock<T>(_ body: () throws -> T) rethrows -> T {
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

extension LMDBEnvironmentCore {
    /// The current state of the file; the caller is inside.
    fileprivate func position() throws -> LMDBSoundKeeper.Position {
        var descriptor: mdb_filehandle_t = -1
        var information = MDB_envinfo()
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0,
            mdb_env_info(environment, &information) == 0
        else { throw LMDBError.error(.closed, "the store was closed", path: path) }
        return LMDBSoundKeeper.Position(descriptor: descriptor, transaction: UInt64(information.me_last_txnid))
    }

    /// Notes the beginning of a write transaction; this thread is the writer.
    func noteWriteBeginning(transaction: UInt64) {
        var descriptor: mdb_filehandle_t = -1
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0 else { return }
        soundness.beginWrite(transaction: transaction, descriptor: descriptor)
    }

    /// Notes the commit or rollback of a write transaction; this thread is the writer.
    func noteWriteEnd() {
        guard let position = try? position() else { return soundness.forget() }
        soundness.endWrite(position)
    }
}

extension LMDBEnvironment {
    /// Whether every page was checked since the system started, and only commits of these processes have changed the file since.
    func isMarkedSound() throws -> Bool {
        try withRead { _ in
            let position = try core.position()
            return try core.soundness.takeOpening(position) || core.soundness.isMarked { try core.position() }
        }
    }

    /// The input of ``markSound(since:)``, to be taken before all pages are checked; nil if there is nothing to mark.
    func soundnessBeforeWalk() throws -> LMDBSoundMark? {
        guard !isReadOnly else { return nil }
        return try withRead { _ in core.soundness.beginWalk(try core.position()) }
    }

    /// Records that every page was checked and is intact, unless the file has changed meanwhile.
    func markSound(since beginning: LMDBSoundMark) throws {
        try withRead { _ in core.soundness.endWalk(beginning, try core.position()) }
    }
}

/// A lock that lets one process at a time begin a write transaction, with a limited wait.
///
/// Waiting for LMDB's own lock has no limit, so a process that freezes while writing would block all others. This lock is taken
/// first: `flock` on the data file, which liblmdb never locks. The system releases it when its process dies. It belongs to the
/// descriptor, so within a process only the current writer takes it.
enum LMDBWriterLock {
    /// A commit takes about as long as the shortest pause.
    private static let pauses = AdvisoryLock.Pauses(microseconds: 20...1_000)

    /// Acquires the lock, waiting until the deadline.
    ///
    /// - Throws: `.busy` if another process holds it longer.
    static func take(_ descriptor: Int32, until deadline: DispatchTime, path: String) throws {
        if try tryTake(descriptor, path: path) { return }
        let beginning = DispatchTime.now().uptimeNanoseconds
        let isTaken = try AdvisoryLock.wait(
            pauses,
            while: { DispatchTime.now() < deadline },
            for: { try tryTake(descriptor, path: path) }
        )
        if isTaken { return }
        let tenths = (DispatchTime.now().uptimeNanoseconds - beginning) / 100_000_000
        throw LMDBError.error(
            .busy,
            "another process has been writing for \(Double(tenths) / 10) s; it may be frozen: end it, or try again later",
            path: path
        )
    }

    /// Releases the lock.
    static func release(_ descriptor: Int32) { AdvisoryLock.release(descriptor) }

    private static func tryTake(_ descriptor: Int32, path: String) throws -> Bool {
        do {
            return try AdvisoryLock.exclusive.tryTake(descriptor, path: path)
        } catch {
            throw LMDBError.error(error.number, during: "locking the file", path: path)
        }
    }
}
