import CLMDB
import Foundation
import HabitStore
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension LMDBEnvironmentCore {
    /// How often a copy is restarted because of commits; a commit takes far longer than reading two pages.
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
                    guard let snapshot = try snapshot(of: handle) else { continue }
                    activeReaders.append(thread)
                    return LMDBTransaction(
                        core: self,
                        handle: handle,
                        snapshot: snapshot,
                        databaseCount: databaseNames.count
                    )
                }
                try recover(from: returnCode, during: "beginning to read")
            }
            throw busy("the file changed again and again")
        }
    }

    func endRead(_ transaction: LMDBTransaction, for owner: LMDBEnvironment) {
        let handle = transaction.takeHandle()
        // The snapshot is released here, before the gate: a slow gate must not keep pages from being reused.
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

    /// Renews a pooled transaction, which costs no reader slot, or begins one.
    @inline(__always)
    private func startReader(_ handle: inout OpaquePointer?) -> Int32 {
        if let pooled = pooledReaders.popLast() {
            let returnCode = mdb_txn_renew(pooled)
            if returnCode == 0 {
                handle = pooled
            } else if returnCode != MDB_BAD_RSLOT {
                mdb_txn_abort(pooled)
            }
            // With MDB_BAD_RSLOT, the slot may belong to another reader by now. Aborting would free it under that reader, so the
            // transaction's few bytes are leaked.
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

    /// The pages of a read transaction's snapshot, shared by all transactions on it. The gate is locked.
    ///
    /// - Returns: nil if commits have made the snapshot unavailable; the transaction has ended then.
    @inline(__always)
    private func snapshot(of handle: OpaquePointer) throws -> LMDBSnapshotPages? {
        let moment = UInt64(mdb_txn_id(handle))
        if let known = knownSnapshot, known.moment == moment, known.isInPlace { return known }
        return try newSnapshot(moment, of: handle)
    }

    private func newSnapshot(_ moment: UInt64, of handle: OpaquePointer) throws -> LMDBSnapshotPages? {
        do {
            let (map, length) = try currentMap()
            knownSnapshot = LMDBSnapshotPages(
                moment: moment,
                map: map,
                fileLength: length,
                databases: databaseNames
            )
        } catch {
            mdb_txn_abort(handle)
            throw error
        }
        if knownSnapshot == nil { mdb_txn_abort(handle) }
        return knownSnapshot
    }

    /// A map of the whole file, and the file's length.
    private func currentMap() throws -> (LMDBFileMap, length: UInt64) {
        var descriptor: mdb_filehandle_t = -1
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0 else {
            throw LMDBError.error(.closed, "the store was closed", path: path)
        }
        // A descriptor that now leads to another file says nothing about this one, nor does such a path.
        var state = LMDBFileState(descriptor: descriptor)
        if state?.identity != identity { state = try LMDBFileState(path: path) }
        if state?.identity != identity { state = nil }
        lengthSeen.max(state?.length ?? 0, ordering: .releasing)
        let length = state?.length ?? lengthSeen.load(ordering: .relaxed)
        if let fileMap, fileMap.length >= length { return (fileMap, length) }
        let map = try LMDBFileMap(descriptor: descriptor, fileLength: length, path: path)
        fileMap = map
        return (map, length)
    }

    /// Repairs what it can so that the transaction can be retried, or throws; the gate is locked.
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

    /// Copies the file. Not allowed inside a write of the same thread, whose records the copy would lack.
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

    /// - Returns: false if the file has changed in a way that makes another attempt worthwhile.
    private func copyOnce(to descriptor: Int32, compact: Bool, for owner: LMDBEnvironment) throws -> Bool {
        // An open read transaction keeps the environment from being closed or moved, and its pages from being reused.
        let transaction = try beginRead(for: owner)
        defer { endRead(transaction, for: owner) }
        guard let environment else { throw LMDBError.error(.closed, "the store was closed", path: path) }
        guard compact else {
            let snapshot = try transaction.identifier()
            return try LMDBSnapshotCopy.write(try pageSource(), transaction: snapshot, to: descriptor)
        }
        // Reads in its own transaction, and takes only a reader's lock.
        switch mdb_env_copyfd2(environment, descriptor, UInt32(MDB_CP_COMPACT)) {
        case 0: return true
        case MDB_MAP_RESIZED: return false
        case MDB_INCOMPATIBLE:
            let message = "the file has leaked pages or is damaged, so it cannot be compacted; copy it uncompacted"
            throw LMDBError.error(.corrupt, message, path: path)
        case let returnCode: throw LMDBError.error(returnCode, during: "copying the file", path: path)
        }
    }
}

extension LMDBEnvironmentCore {
    /// Throws if the path no longer leads to the open file: a commit would go into a file without a name, and be lost when the
    /// process that it was acknowledged to ends.
    ///
    /// The inode of an open file is not reused, so the device and the inode identify it. Also throws if another program has
    /// truncated the file.
    ///
    /// - Parameter consequence: what the error adds for writers.
    func requireUnmoved(_ consequence: String = "nothing was written; ") throws {
        let seen = lengthSeen.load(ordering: .acquiring)
        var status = stat()
        if stat(path, &status) == 0 {
            if status.st_nlink > 0, LMDBFileIdentity(status) == identity {
                return try requireWhole(UInt64(clamping: status.st_size), seen)
            }
        } else if ![ENOENT, ENOTDIR, ELOOP].contains(errno) {
            throw LMDBError.error(errno, during: "finding the file", path: path)
        }
        throw LMDBError.error(
            .fileMoved,
            "the file was moved, deleted or replaced while it was open; \(consequence)close the store and open it again",
            path: path
        )
    }

    /// One in this many reads checks the file's length: that is a system call, which takes as long as a short read.
    private static let readsPerLengthCheck = 64

    /// Throws if another program has truncated the file. Only some of the reads check. The gate is locked.
    ///
    /// The pages after the end of the file are gone from the map, and touching one ends the process by SIGBUS.
    @inline(__always)
    func requireWholeNowAndThen() throws {
        readsSinceLengthCheck &+= 1
        if readsSinceLengthCheck >= Self.readsPerLengthCheck { try requireWholeNow() }
    }

    @inline(never)
    private func requireWholeNow() throws {
        let seen = lengthSeen.load(ordering: .acquiring)
        var descriptor: mdb_filehandle_t = -1
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0,
            let state = LMDBFileState(descriptor: descriptor)
        else { return }
        // After a failed check, the next read checks again.
        try requireWhole(state.length, seen)
        readsSinceLengthCheck = 0
    }

    /// - Parameters:
    ///   - length: the current length of the file.
    ///   - seen: the greatest length known before `length` was queried: another thread's write may extend the file at any time.
    private func requireWhole(_ length: UInt64, _ seen: UInt64) throws {
        lengthSeen.max(length, ordering: .releasing)
        guard length < seen else { return }
        throw LMDBError.error(
            .corrupt,
            "another program has cut the file off from \(seen) to \(length) bytes while it was open; restore it from a copy",
            path: path
        )
    }
}

extension LMDBEnvironmentCore {
    /// The bytes of the open file; the caller is inside.
    func pageSource() throws -> LMDBPageSource {
        var descriptor: mdb_filehandle_t = -1
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0 else {
            throw LMDBError.error(.closed, "the store was closed", path: path)
        }
        return LMDBPageSource(path: path, borrowing: descriptor)
    }
}
