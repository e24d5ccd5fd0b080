import CLMDB
import HabitStore
@_spi(Engines) import OrderedKeys

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A position in a database, moved record by record in key order.
///
/// Its results point into the map: see ``LMDBRecord``. It ends with its transaction; using it afterwards is an error.
final class LMDBCursor {
    private let transaction: LMDBTransaction
    /// liblmdb's cursor, in a write transaction.
    private let handle: OpaquePointer?
    /// The position, in a read transaction.
    @exclusivity(unchecked) private var place: LMDBTreePlace

    init(transaction: LMDBTransaction, handle: OpaquePointer) {
        self.transaction = transaction
        self.handle = handle
        place = LMDBTreePlace(.empty)
    }

    init(transaction: LMDBTransaction, _ tree: LMDBMappedPages.Tree) {
        self.transaction = transaction
        handle = nil
        place = LMDBTreePlace(tree)
    }

    deinit {
        place.end()
        if let handle { transaction.close(cursor: handle) }
    }

    /// Moves to the record with the least key.
    func first() throws -> LMDBRecord? {
        try transaction.requireActive()
        guard let snapshot = transaction.snapshot else { return try step(MDB_FIRST) }
        return try place.first(snapshot.pages)
    }

    /// Moves to the record with the greatest key.
    func last() throws -> LMDBRecord? {
        try transaction.requireActive()
        guard let snapshot = transaction.snapshot else { return try step(MDB_LAST) }
        return try place.last(snapshot.pages)
    }

    /// Moves to the next record; on a new cursor, to the first. The thread is not checked again: the transaction was checked when
    /// the walk began, and no step of a walk leaves its closure.
    @inline(__always)
    func next() throws -> LMDBRecord? {
        guard let snapshot = transaction.snapshot else { return try step(MDB_NEXT) }
        try requireUnended()
        return try place.next(snapshot.pages)
    }

    /// Moves to the previous record; on a new cursor, to the last. The thread is not checked again, as in ``next()``.
    @inline(__always)
    func previous() throws -> LMDBRecord? {
        guard let snapshot = transaction.snapshot else { return try step(MDB_PREV) }
        try requireUnended()
        return try place.previous(snapshot.pages)
    }

    /// The current record; nil if there is none.
    func current() throws -> LMDBRecord? {
        try transaction.requireActive()
        if let snapshot = transaction.snapshot { return try place.current(snapshot.pages) }
        var key = MDB_val()
        var value = MDB_val()
        let returnCode = mdb_cursor_get(handle, &key, &value, MDB_GET_CURRENT)
        // LMDB returns EINVAL for a cursor that was never moved.
        if returnCode == EINVAL || returnCode == MDB_NOTFOUND { return nil }
        guard returnCode == 0 else { throw transaction.error(returnCode, during: "reading a record") }
        return record(key, value)
    }

    /// Moves to the first record whose key is `key` or greater.
    @inline(__always)
    func seek(_ key: UnsafeRawBufferPointer) throws -> LMDBRecord? { try move(MDB_SET_RANGE, to: key) }

    /// Moves to the record with exactly this key.
    @inline(__always)
    func seekExact(_ key: UnsafeRawBufferPointer) throws -> LMDBRecord? { try move(MDB_SET_KEY, to: key) }

    /// Moves to the first record whose key is `key` or greater.
    func seek(_ key: [UInt8]) throws -> LMDBRecord? { try key.withUnsafeBytes { try seek($0) } }

    /// Moves to the record with exactly this key.
    func seekExact(_ key: [UInt8]) throws -> LMDBRecord? { try key.withUnsafeBytes { try seekExact($0) } }

    /// Writes a value and moves to it. The way to a key near the current one is short.
    ///
    /// - Returns: false if `mode` is `.noOverwrite` and the key exists; nothing is changed then.
    func put(
        _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        mode: LMDBPutMode
    ) throws -> Bool {
        _ = try transaction.writableHandle()
        var rawKey = try transaction.checkedKey(key)
        try transaction.checkValue(length: value.count)
        // An empty buffer may have no address; LMDB gets one that it does not read.
        let address = value.baseAddress ?? key.baseAddress
        var rawValue = MDB_val(mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: address))
        let returnCode = mdb_cursor_put(handle, &rawKey, &rawValue, mode.flags)
        return try transaction.finishPut(returnCode, mode: mode)
    }

    @inline(__always)
    private func move(_ operation: MDB_cursor_op, to key: UnsafeRawBufferPointer) throws -> LMDBRecord? {
        try transaction.requireActive()
        let rawKey = try transaction.checkedKey(key)
        guard let snapshot = transaction.snapshot else { return try step(operation, key: rawKey) }
        return try place.seek(key, isExact: operation == MDB_SET_KEY, snapshot.pages)
    }

    @inline(__always)
    private func step(_ operation: MDB_cursor_op, key: MDB_val = MDB_val()) throws -> LMDBRecord? {
        // The transaction closed this cursor when it ended, so LMDB's handle must not be used any more.
        try requireUnended()
        var key = key
        var value = MDB_val()
        let returnCode = mdb_cursor_get(handle, &key, &value, operation)
        guard returnCode == 0 else {
            if returnCode == MDB_NOTFOUND { return nil }
            throw transaction.error(returnCode, during: "reading a record")
        }
        return record(key, value)
    }

    @inline(__always)
    private func requireUnended() throws {
        guard transaction.isActive else { throw LMDBTransaction.ended(transaction.core.path) }
    }

    @inline(__always)
    private func record(_ key: MDB_val, _ value: MDB_val) -> LMDBRecord {
        LMDBRecord(
            key: UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size),
            value: UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
        )
    }
}

/// Writes records with ascending, distinct keys, none of which is a prefix of another: a cursor moves along the tree, and pages
/// after the greatest existing key are filled one after the other.
///
/// An eighth of those pages stays free. LMDB fills appended pages completely, and later insertions between their records would
/// split them, for a larger file and a longer sync. LMDB has no option for this, so a placeholder record as large as the free part
/// occupies it while the page is being filled, and is removed when later pages are being filled.
struct LMDBAscendingPuts {
    private let transaction: LMDBTransaction
    private let database: LMDBDatabase
    private let cursor: LMDBCursor
    private let pageSizeBytes: Int
    /// As many bytes as a page leaves free.
    private let filling: [UInt8]
    /// The greatest existing key; nil if there was none, and once the new keys are beyond it.
    private var greatest: [UInt8]?
    /// The number of bytes appended since the last placeholder.
    private var appendedBytes = 0
    /// The keys of the current placeholders, in order.
    private var placeholders: [[UInt8]] = []

    /// The part of a page that stays free.
    private static let freePart = 8
    /// A placeholder is removed after this many others, when its page gets no more records.
    private static let lasting = 2

    /// Runs `body`, which must not write to the database in any other way. If it throws, the transaction cannot be committed.
    static func run<Result>(
        _ transaction: LMDBTransaction,
        _ database: LMDBDatabase,
        _ body: (inout LMDBAscendingPuts) throws -> Result
    ) throws -> Result {
        var puts = try LMDBAscendingPuts(transaction, database)
        do {
            let result = try body(&puts)
            try puts.removePlaceholders(keeping: 0)
            return result
        } catch {
            transaction.poison(
                LMDBError.error(.internalInconsistency, "a batch was written in part", path: transaction.core.path)
            )
            throw error
        }
    }

    private init(_ transaction: LMDBTransaction, _ database: LMDBDatabase) throws {
        self.transaction = transaction
        self.database = database
        pageSizeBytes = try transaction.core.statistics().pageSizeBytes
        filling = [UInt8](repeating: 0, count: pageSizeBytes / Self.freePart)
        cursor = try transaction.cursor(database)
        greatest = try cursor.last().map { Array($0.key) }
    }

    /// Writes a value.
    ///
    /// - Returns: false if `mode` is `.noOverwrite` and the key exists.
    @discardableResult
    mutating func put(
        _ key: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        mode: LMDBPutMode
    ) throws -> Bool {
        if let greatest {
            guard greatest.withUnsafeBytes({ KeyOrder.isBefore($0, key) }) else {
                return try cursor.put(key, value, mode: mode)
            }
            self.greatest = nil
        }
        _ = try cursor.put(key, value, mode: .append)
        appendedBytes += leafBytes(key.count, value.count)
        if appendedBytes > pageSizeBytes - filling.count { try keepRoom(behind: key) }
        return true
    }

    private mutating func keepRoom(behind key: UnsafeRawBufferPointer) throws {
        guard key.count < LMDBTransaction.maximumKeyLength else { return }
        // The least key after this one. It sorts before the next key, which does not begin with this one.
        var placeholder: [UInt8] = []
        placeholder.reserveCapacity(key.count + 1)
        placeholder.append(contentsOf: key)
        placeholder.append(0)
        try placeholder.withUnsafeBytes { key in
            let length = max(0, filling.count - leafBytes(key.count, 0))
            _ = try filling.withUnsafeBytes {
                try cursor.put(key, UnsafeRawBufferPointer(rebasing: $0[..<length]), mode: .append)
            }
        }
        placeholders.append(placeholder)
        appendedBytes = 0
        try removePlaceholders(keeping: Self.lasting)
    }

    private func leafBytes(_ keyLength: Int, _ valueLength: Int) -> Int {
        LMDBFileFormat.leafBytes(keyLength: keyLength, valueLength: valueLength, pageSizeBytes: pageSizeBytes)
    }

    private mutating func removePlaceholders(keeping count: Int) throws {
        while placeholders.count > count { try transaction.delete(database, placeholders.removeFirst()) }
    }
}
