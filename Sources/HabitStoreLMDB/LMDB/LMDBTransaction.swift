import CLMDB
import HabitStore

/// A transaction, created only by ``LMDBEnvironment/withRead(_:)`` and ``LMDBEnvironment/withWrite(_:)``.
///
/// It belongs to the thread that runs the closure, and ends with it. Using it afterwards is an error, not a crash.
final class LMDBTransaction {
    /// LMDB's limit in every common build; verified against the library when a file is opened.
    static let maximumKeyLength = 511
    /// LMDB stores a value's length in 32 bits.
    static let maximumValueLength = Int(clamping: UInt64(UInt32.max))

    let core: LMDBEnvironmentCore
    var isWritable: Bool { snapshot == nil }
    /// The snapshot of a read transaction; nil for a write transaction, which sees its own changes through liblmdb.
    let snapshot: LMDBSnapshotPages?
    /// LMDB's transaction; nil after it has ended.
    private(set) var handle: OpaquePointer?
    /// The first error that prevents a commit.
    private(set) var failure: HabitStoreError?
    private let databaseHandles: UnsafeMutablePointer<MDB_dbi>
    private let databaseCount: Int
    private var cursors: [OpaquePointer] = []
    /// No other thread may use the handle or the cursors.
    private let thread = TransactionThread()

    init(core: LMDBEnvironmentCore, handle: OpaquePointer, snapshot: LMDBSnapshotPages?, databaseCount: Int) {
        self.core = core
        self.handle = handle
        self.snapshot = snapshot
        self.databaseHandles = core.databaseHandles
        self.databaseCount = databaseCount
    }

    /// Whether the closure is still running.
    var isActive: Bool { handle != nil }

    /// - Throws: ``HabitStoreError/Code/transactionEnded`` if the closure has ended or runs on another thread.
    @inline(__always)
    func requireActive() throws { _ = try activeHandle() }

    /// The number of the snapshot that is read, or that a commit would create.
    func identifier() throws -> UInt64 { UInt64(mdb_txn_id(try activeHandle())) }

    @inline(__always)
    func activeHandle() throws -> OpaquePointer {
        guard thread.isCurrent, let handle else { throw Self.ended(core.path) }
        return handle
    }

    /// The handle, if this transaction can still make changes.
    @inline(__always)
    func writableHandle() throws -> OpaquePointer {
        let handle = try activeHandle()
        try requireWritable()
        return handle
    }

    /// The handle for another thread, which this transaction's own thread waits for.
    func lentHandle() throws -> OpaquePointer {
        guard let handle else { throw Self.ended(core.path) }
        try requireWritable()
        return handle
    }

    @inline(__always)
    private func requireWritable() throws {
        guard isWritable else {
            throw LMDBError.error(.permissionDenied, "a read transaction cannot write", path: core.path)
        }
        if let failure { throw failure }
    }

    /// LMDB's handle of a database, in a write transaction.
    @inline(__always)
    func rawDatabase(_ database: LMDBDatabase) throws -> MDB_dbi {
        guard database.index < databaseCount else {
            throw LMDBError.error(
                .internalInconsistency,
                "the database was opened after this transaction began, or in another file",
                path: core.path
            )
        }
        if !core.checkedDatabases[database.index] { try checkDatabase(database) }
        return databaseHandles[database.index]
    }

    @inline(never)
    private func checkDatabase(_ database: LMDBDatabase) throws {
        do {
            try core.checkDatabase(database)
        } catch let error as HabitStoreError {
            poison(error)
            throw error
        }
    }

    /// The key in LMDB's form, after checking its length.
    @inline(__always)
    func checkedKey(_ key: UnsafeRawBufferPointer) throws -> MDB_val {
        guard key.count > 0, key.count <= Self.maximumKeyLength else { throw keyError(length: key.count) }
        return MDB_val(mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
    }

    private func keyError(length: Int) -> HabitStoreError {
        guard length > 0 else { return LMDBError.error(.invalidValue, "a key cannot be empty", path: core.path) }
        let message = "a key of \(length) bytes is longer than the \(Self.maximumKeyLength) that can be kept"
        return LMDBError.error(.limitExceeded, message, path: core.path)
    }

    /// The error of a failed operation. In a write transaction it also prevents the commit: LMDB may have made half of the change.
    func error(_ returnCode: Int32, during action: String) -> HabitStoreError {
        if let failure { return failure }
        let error = LMDBError.error(returnCode, during: action, path: core.path)
        guard isWritable else { return error }
        failure = error
        if returnCode == MDB_MAP_FULL { core.requestGrowth() }
        return error
    }

    /// Prevents the commit for a reason that LMDB does not know.
    func poison(_ error: HabitStoreError) {
        if failure == nil { failure = error }
    }

    func register(cursor: OpaquePointer) { cursors.append(cursor) }

    /// Closes a cursor that is released before its transaction ends. One that another thread releases is closed when the
    /// transaction ends.
    func close(cursor: OpaquePointer) {
        guard thread.isCurrent, handle != nil, let place = cursors.lastIndex(of: cursor) else { return }
        cursors.remove(at: place)
        mdb_cursor_close(cursor)
    }

    /// Takes the handle in order to commit, reset or abort it. Cursors are closed first: when LMDB ends a write transaction, it
    /// frees their memory.
    func takeHandle() -> OpaquePointer? {
        guard let taken = handle else { return nil }
        closeCursors()
        handle = nil
        thread.end()
        return taken
    }

    /// Closes all cursors. Hazard: none of them may be used afterwards.
    func closeCursors() {
        for cursor in cursors { mdb_cursor_close(cursor) }
        cursors.removeAll()
    }

    /// A nested transaction.
    func nested(_ handle: OpaquePointer) -> LMDBTransaction {
        LMDBTransaction(core: core, handle: handle, snapshot: nil, databaseCount: databaseCount)
    }

    static func ended(_ path: String) -> HabitStoreError {
        LMDBError.error(
            .transactionEnded,
            "the transaction has ended, or is of another thread; use it inside its closure only",
            path: path
        )
    }
}
