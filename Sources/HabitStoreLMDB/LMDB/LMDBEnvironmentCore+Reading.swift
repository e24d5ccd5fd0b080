import CLMDB
import Foundation
import HabitStore

extension LMDBEnvironmentCore {
    /// How often a copy is begun anew because of commits; a commit takes far longer than reading two pages.
    private static let maximumCopyAttempts = 100

    func beginRead(for owner: LMDBEnvironment) throws -> LMDBTransaction {
        let thread = LMDBPlatform.currentThread
        return try entering(owner) {
            for _ in 0..<Self.maximumBeginAttempts {
                try waitForExclusiveThread(thread)
                try reopenIfNeeded()
                try checkOpen(owner)
                try requireWholeNowAndThen()
                var handle: OpaquePointer?
                let returnCode = startReader(&handle)
                if returnCode == 0, let handle {
                    activeReaders.append(thread)
                    return LMDBTransaction(
                        core: self,
                        handle: handle,
                        isWritable: false,
                        databaseCount: databaseNames.count
                    )
                }
                try recover(from: returnCode, during: "beginning to read")
            }
            throw busy("the file changed its size again and again")
        }
    }

    func endRead(_ transaction: LMDBTransaction, for owner: LMDBEnvironment) {
        let handle = transaction.takeHandle()
        // The snapshot is let go here, before the gate: a slow gate must not keep pages from being used again.
        if let handle { mdb_txn_reset(handle) }
        let thread = LMDBPlatform.currentThread
        gate.lock()
        if let handle {
            if pooledReaders.count < options.readerPoolLimit, !needsReopen {
                pooledReaders.append(handle)
            } else {
                mdb_txn_abort(handle)
            }
        }
        if let place = activeReaders.lastIndex(of: thread) {
            activeReaders.swapAt(place, activeReaders.count - 1)
            activeReaders.removeLast()
        }
        wake()
        leave(owner)
    }

    /// Renews a kept transaction, which costs no reader slot, or begins one.
    @inline(__always)
    private func startReader(_ handle: inout OpaquePointer?) -> Int32 {
        if let pooled = pooledReaders.popLast() {
            let returnCode = mdb_txn_renew(pooled)
            if returnCode == 0 {
                handle = pooled
            } else if returnCode != MDB_BAD_RSLOT {
                mdb_txn_abort(pooled)
            }
            // With MDB_BAD_RSLOT the slot may be another reader's by now: aborting would free it under that reader, so
            // the transaction's few bytes are given up.
            return returnCode
        }
        guard let environment else { return MDB_PANIC }
        var returnCode = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &handle)
        if returnCode == MDB_READERS_FULL {
            checkReaders()
            returnCode = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &handle)
        }
        return returnCode
    }

    /// Repairs what can be repaired so that a begin can be tried again, or throws; the gate is locked.
    func recover(from returnCode: Int32, during action: String) throws {
        switch returnCode {
        case MDB_MAP_RESIZED:
            try mapAnew()
        case MDB_PANIC, MDB_BAD_RSLOT:
            needsReopen = true
        default:
            throw LMDBError.error(returnCode, during: action, path: path)
        }
    }

    /// Copies the file. Not inside of a write of the same thread, whose records the copy would lack.
    func copy(to descriptor: Int32, compact: Bool, for owner: LMDBEnvironment) throws {
        gate.lock()
        let isWriting = writerThread == LMDBPlatform.currentThread
        gate.unlock()
        guard !isWriting else {
            throw LMDBError.error(.unsupported, "a copy cannot be made inside a write transaction", path: path)
        }
        for _ in 0..<Self.maximumCopyAttempts where try copyOnce(to: descriptor, compact: compact, for: owner) {
            return
        }
        throw busy("the file changed again and again")
    }

    /// - Returns: false when the file has changed meanwhile in a way that makes another attempt worthwhile.
    private func copyOnce(to descriptor: Int32, compact: Bool, for owner: LMDBEnvironment) throws -> Bool {
        // An open read transaction keeps the environment from being closed or moved, and its pages from being used again.
        let transaction = try beginRead(for: owner)
        defer { endRead(transaction, for: owner) }
        guard let environment else { throw LMDBError.error(.closed, "the store was closed", path: path) }
        guard compact else {
            let snapshot = try transaction.identifier()
            return try LMDBSnapshotCopy.write(try pageSource(), transaction: snapshot, to: descriptor)
        }
        // It reads in a transaction of its own, and takes no lock but the readers'.
        switch mdb_env_copyfd2(environment, descriptor, UInt32(MDB_CP_COMPACT)) {
        case 0: return true
        case MDB_MAP_RESIZED: return false
        case MDB_INCOMPATIBLE:
            let message = "the file has leaked pages or is damaged, so it cannot be compacted; copy it as it is"
            throw LMDBError.error(.corrupt, message, path: path)
        case let returnCode: throw LMDBError.error(returnCode, during: "copying the file", path: path)
        }
    }
}
