import CLMDB
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

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

extension LMDBTransaction {
    /// The value of a key, or nil. It points into the map: see ``LMDBRecord``.
    @inline(__always)
    func get(_ database: LMDBDatabase, _ key: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
        let handle = try activeHandle()
        var rawKey = try checkedKey(key)
        if let snapshot { return try snapshot.get(database, key) }
        var value = MDB_val()
        let returnCode = mdb_get(handle, try rawDatabase(database), &rawKey, &value)
        guard returnCode == 0 else {
            if returnCode == MDB_NOTFOUND { return nil }
            throw error(returnCode, during: "reading a value")
        }
        return UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }

    /// The value of a key, or nil. It points into the map: see ``LMDBRecord``.
    func get(_ database: LMDBDatabase, _ key: [UInt8]) throws -> UnsafeRawBufferPointer? {
        try key.withUnsafeBytes { try get(database, $0) }
    }

    /// The number of records in a database. LMDB stores it, so the cost does not depend on it.
    func count(_ database: LMDBDatabase) throws -> Int {
        let handle = try activeHandle()
        if let snapshot { return try snapshot.tree(database.index).entries }
        var statistics = MDB_stat()
        let returnCode = mdb_stat(handle, try rawDatabase(database), &statistics)
        guard returnCode == 0 else { throw error(returnCode, during: "counting records") }
        return Int(statistics.ms_entries)
    }

    /// A cursor, before the first record. It ends with the transaction, or when it is released.
    func cursor(_ database: LMDBDatabase) throws -> LMDBCursor {
        let handle = try activeHandle()
        if let snapshot { return LMDBCursor(transaction: self, try snapshot.tree(database.index)) }
        var cursor: OpaquePointer?
        let returnCode = mdb_cursor_open(handle, try rawDatabase(database), &cursor)
        guard returnCode == 0, let cursor else { throw error(returnCode, during: "opening a cursor") }
        register(cursor: cursor)
        return LMDBCursor(transaction: self, handle: cursor)
    }
}

extension LMDBTransaction {
    /// Walks the records whose key is at least `lower` and below `upper`, in key order or backwards.
    ///
    /// `body` gets pointers into the map (see ``LMDBRecord``) and returns whether to continue. Bounds are optional.
    func forEach(
        _ database: LMDBDatabase,
        from lower: [UInt8] = [],
        to upper: [UInt8]? = nil,
        reverse: Bool = false,
        _ body: (LMDBRecord) throws -> Bool
    ) throws {
        let cursor = try cursor(database)
        if reverse {
            try walkBackwards(cursor, from: lower, to: upper, body)
        } else {
            try walkForwards(cursor, from: lower, to: upper, body)
        }
    }

    /// Walks the records whose key begins with `prefix`, in key order or backwards.
    func forEach(
        _ database: LMDBDatabase,
        prefix: [UInt8],
        reverse: Bool = false,
        _ body: (LMDBRecord) throws -> Bool
    ) throws {
        try forEach(database, from: prefix, to: KeyOrder.successor(ofPrefix: prefix), reverse: reverse, body)
    }

    private func walkForwards(
        _ cursor: LMDBCursor,
        from lower: [UInt8],
        to upper: [UInt8]?,
        _ body: (LMDBRecord) throws -> Bool
    ) throws {
        var record = lower.isEmpty ? try cursor.first() : try cursor.seek(lower)
        guard let upper else {
            while let found = record {
                guard try body(found) else { return }
                record = try cursor.next()
            }
            return
        }
        try upper.withUnsafeBytes { upper in
            while let found = record, KeyOrder.isBefore(found.key, upper) {
                guard try body(found) else { return }
                record = try cursor.next()
            }
        }
    }

    private func walkBackwards(
        _ cursor: LMDBCursor,
        from lower: [UInt8],
        to upper: [UInt8]?,
        _ body: (LMDBRecord) throws -> Bool
    ) throws {
        var record: LMDBRecord?
        if let upper {
            guard !upper.isEmpty else { return }
            record = try cursor.seek(upper) == nil ? try cursor.last() : try cursor.previous()
        } else {
            record = try cursor.last()
        }
        try lower.withUnsafeBytes { lower in
            while let found = record, !KeyOrder.isBefore(found.key, lower) {
                guard try body(found) else { return }
                record = try cursor.previous()
            }
        }
    }
}

extension LMDBTransaction {
    /// Writes a value.
    ///
    /// - Returns: false if `mode` is `.noOverwrite` and the key exists; nothing is changed then.
    @discardableResult
    func put(
        _ database: LMDBDatabase,
        _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        mode: LMDBPutMode = .upsert
    ) throws -> Bool {
        let handle = try writableHandle()
        var rawKey = try checkedKey(key)
        try checkValue(length: value.count)
        // An empty buffer may have no address; LMDB gets one that it does not read.
        let address = value.baseAddress ?? key.baseAddress
        var rawValue = MDB_val(mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: address))
        let returnCode = mdb_put(handle, try rawDatabase(database), &rawKey, &rawValue, mode.flags)
        return try finishPut(returnCode, mode: mode)
    }

    /// Writes a value.
    ///
    /// - Returns: false if `mode` is `.noOverwrite` and the key exists; nothing is changed then.
    @discardableResult
    func put(
        _ database: LMDBDatabase,
        _ key: [UInt8],
        _ value: [UInt8],
        mode: LMDBPutMode = .upsert
    ) throws -> Bool {
        try key.withUnsafeBytes { key in
            try value.withUnsafeBytes { value in try put(database, key, value, mode: mode) }
        }
    }

    /// Reserves space for a value in the file's own page, and lets `fill` write it there without a copy.
    ///
    /// `fill` must write every byte: any that it leaves out keep the page's previous contents. If it throws, the transaction can no
    /// longer be committed.
    ///
    /// - Returns: false if `mode` is `.noOverwrite` and the key exists; `fill` was not called then.
    @discardableResult
    func put(
        _ database: LMDBDatabase,
        _ key: UnsafeRawBufferPointer,
        reserving length: Int,
        mode: LMDBPutMode = .upsert,
        fill: (UnsafeMutableRawBufferPointer) throws -> Void
    ) throws -> Bool {
        let handle = try writableHandle()
        var rawKey = try checkedKey(key)
        try checkValue(length: length)
        var rawValue = MDB_val(mv_size: length, mv_data: nil)
        let flags = mode.flags | UInt32(MDB_RESERVE)
        let returnCode = mdb_put(handle, try rawDatabase(database), &rawKey, &rawValue, flags)
        guard try finishPut(returnCode, mode: mode) else { return false }
        do {
            try fill(UnsafeMutableRawBufferPointer(start: rawValue.mv_data, count: length))
        } catch {
            poison(LMDBError.error(.internalInconsistency, "a reserved value was not written", path: core.path))
            throw error
        }
        return true
    }

    /// Removes a record; false if there is none.
    @discardableResult
    func delete(_ database: LMDBDatabase, _ key: UnsafeRawBufferPointer) throws -> Bool {
        let handle = try writableHandle()
        var rawKey = try checkedKey(key)
        let returnCode = mdb_del(handle, try rawDatabase(database), &rawKey, nil)
        if returnCode == MDB_NOTFOUND { return false }
        guard returnCode == 0 else { throw error(returnCode, during: "deleting a record") }
        return true
    }

    /// Removes a record; false if there is none.
    @discardableResult
    func delete(_ database: LMDBDatabase, _ key: [UInt8]) throws -> Bool {
        try key.withUnsafeBytes { try delete(database, $0) }
    }

    /// Removes every record of a database, but not the database.
    func removeAll(_ database: LMDBDatabase) throws {
        let handle = try writableHandle()
        let returnCode = mdb_drop(handle, try rawDatabase(database), 0)
        guard returnCode == 0 else { throw error(returnCode, during: "emptying a database") }
    }

    /// The result of a put: false if the key exists and must not be overwritten.
    @inline(__always)
    func finishPut(_ returnCode: Int32, mode: LMDBPutMode) throws -> Bool {
        if returnCode == 0 { return true }
        guard returnCode == MDB_KEYEXIST else { throw error(returnCode, during: "writing a value") }
        if case .noOverwrite = mode { return false }
        let error = LMDBError.error(
            .internalInconsistency,
            "an appended key is not greater than the last key",
            path: core.path
        )
        poison(error)
        throw error
    }

    @inline(__always)
    func checkValue(length: Int) throws {
        guard length >= 0, length <= Self.maximumValueLength else {
            let message = "a value of \(length) bytes is longer than the \(Self.maximumValueLength) that can be kept"
            throw LMDBError.error(.limitExceeded, message, path: core.path)
        }
    }
}

extension LMDBPutMode {
    var flags: UInt32 {
        switch self {
        case .upsert: 0
        case .noOverwrite: UInt32(MDB_NOOVERWRITE)
        case .append: UInt32(MDB_APPEND)
        }
    }
}

/// How `put` treats existing or ascending keys.
enum LMDBPutMode {
    /// Replaces the existing value.
    case upsert
    /// Keeps the existing value and returns false.
    case noOverwrite
    /// Requires a key greater than all existing ones. Faster, and fills pages completely; a key out of order is rejected.
    case append
}

extension LMDBTransaction {
    /// Whether a nested transaction may still join this one: nothing has failed, and no put found the map full.
    var mayGoOn: Bool { isActive && failure == nil && !core.wantsGrowth }

    /// Runs `body` in a nested transaction. If it throws, only its own changes are undone.
    ///
    /// It may run on another thread while this transaction's own thread waits: LMDB's lock stays with the latter. Hazards: this
    /// transaction must not be used meanwhile, and must have no open cursors, because LMDB would have to keep a copy of each.
    func withNested<T>(_ body: (LMDBTransaction) throws -> T) throws -> T {
        let parent = try lentHandle()
        var handle: OpaquePointer?
        let beginning = mdb_txn_begin(core.environment, parent, 0, &handle)
        guard beginning == 0, let handle else {
            throw LMDBError.error(beginning, during: "beginning to write", path: core.path)
        }
        let nested = nested(handle)
        let value: T
        do {
            value = try body(nested)
            if let failure = nested.failure { throw failure }
        } catch {
            if let handle = nested.takeHandle() { mdb_txn_abort(handle) }
            throw error
        }
        guard let handle = nested.takeHandle() else { throw Self.ended(core.path) }
        let returnCode = mdb_txn_commit(handle)
        // The nested transaction may have been joined in part.
        guard returnCode == 0 else { throw error(returnCode, during: "joining a transaction") }
        return value
    }
}
