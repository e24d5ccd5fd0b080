internal import CSQLite
import Foundation
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// A prepared statement: bind, step, read the columns of the row, reset.
///
/// Belongs to its connection, and like it is used by one thread at a time. Stepping and reading columns allocate nothing except the
/// requested Swift value.
package final class SQLiteStatement {
    let sql: String
    let parameterCount: Int32
    let handle: SQLiteHandle
    let pointer: OpaquePointer
    /// 16 bytes for each parameter, so that binding a UUID does not allocate. Created when the first one is bound.
    var identifierBytes: UnsafeMutableRawPointer?

    /// For the cache: whether the statement is in it, whether it is in use, and when it was last borrowed.
    var isKept = false
    var isBorrowed = false
    var lastUse: UInt64 = 0
    private var isFinished = false

    /// Compiles one statement. `isKept` tells SQLite that it will be used for a long time.
    init(_ sql: String, handle: SQLiteHandle, isKept: Bool) throws {
        guard !handle.isClosed else { throw Self.closedError(path: handle.path) }
        self.sql = sql
        self.handle = handle
        var compiled: OpaquePointer?
        var text = sql
        let (result, hasMore) = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters -> (Int32, Bool) in
                guard let start = characters.baseAddress, let length = Int32(exactly: characters.count) else {
                    return (characters.isEmpty ? SQLITE_OK : SQLITE_TOOBIG, false)
                }
                let blanks: [CChar] = [0x09, 0x0a, 0x0d, 0x20, 0x3b]
                let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
                var tail: UnsafePointer<CChar>?
                let result = sqlite3_prepare_v3(handle.pointer, start, length, flags, &compiled, &tail)
                let used = tail.map { $0 - start } ?? characters.count
                let hasMore = characters.dropFirst(used).contains { !blanks.contains($0) }
                return (result, hasMore)
            }
        }
        guard result == SQLITE_OK else { throw handle.error(result, while: "preparing a statement") }
        guard let compiled else {
            throw HabitStoreError(.internalInconsistency, "an empty text was prepared as a statement")
        }
        guard !hasMore else {
            sqlite3_finalize(compiled)
            throw HabitStoreError(.internalInconsistency, "a text with more than one statement was prepared")
        }
        pointer = compiled
        parameterCount = sqlite3_bind_parameter_count(compiled)
    }

    deinit {
        sqlite3_finalize(pointer)
        identifierBytes?.deallocate()
    }

    /// Whether more rows can follow, so that the statement holds a snapshot.
    var isActive: Bool { sqlite3_stmt_busy(pointer) != 0 }

    /// Moves to the next row; false after the last one, until ``reset()``.
    package func step() throws -> Bool {
        if isFinished { return false }
        guard !handle.isClosed else { throw Self.closedError(path: handle.path) }
        handle.beginStep()
        let result = sqlite3_step(pointer)
        if result == SQLITE_ROW { return true }
        if result == SQLITE_DONE {
            isFinished = true
            return false
        }
        let error = handle.error(result, while: "running a statement")
        // Some errors end the whole transaction; a body that continues must not take it for committed.
        if sqlite3_get_autocommit(handle.pointer) != 0 { handle.rollbackCause = error.underlying as? SQLiteResult }
        reset()
        throw error
    }

    /// Runs a statement to its end, ignoring any rows, and resets it.
    package func run() throws {
        defer { reset() }
        while try step() {}
    }

    /// Makes the statement ready to run again; its bindings remain.
    package func reset() {
        isFinished = false
        guard !handle.isClosed else { return }
        // The result repeats the error that the last step has already thrown.
        sqlite3_reset(pointer)
    }

    /// Makes the statement ready to run again with every parameter NULL.
    func clear() {
        reset()
        guard parameterCount > 0, !handle.isClosed else { return }
        sqlite3_clear_bindings(pointer)
    }

    static func closedError(path: String) -> HabitStoreError {
        HabitStoreError(
            .closed,
            "the connection of this statement was closed; begin a new transaction",
            at: HabitStoreError.Location(path: path)
        )
    }
}

/// Binding by index; SQLite counts parameters from 1.
extension SQLiteStatement {
    /// Binds NULL.
    package func bindNull(at index: Int32) throws {
        try check(sqlite3_bind_null(pointer, index))
    }

    /// Binds an integer.
    package func bind(_ value: Int64, at index: Int32) throws {
        try check(sqlite3_bind_int64(pointer, index, value))
    }

    /// Binds a real number. Throws for NaN, which SQLite would silently convert to NULL.
    ///
    /// Hazard: a column of type REAL loses the sign of -0.0, which is stored as the integer 0; one of type ANY keeps it.
    package func bind(_ value: Double, at index: Int32) throws {
        guard !value.isNaN else {
            throw HabitStoreError(.invalidValue, "NaN cannot be stored")
        }
        try check(sqlite3_bind_double(pointer, index, value))
    }

    /// Binds text with all of its bytes, including NUL.
    package func bind(_ value: String, at index: Int32) throws {
        var text = value
        let result = text.withUTF8 { bytes -> Int32 in
            // A nil pointer would bind NULL.
            guard let start = bytes.baseAddress, !bytes.isEmpty else {
                return sqlite3_bind_text(pointer, index, "", 0, csqlite_transient())
            }
            return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { characters in
                sqlite3_bind_text64(
                    pointer,
                    index,
                    characters,
                    UInt64(bytes.count),
                    csqlite_transient(),
                    UInt8(SQLITE_UTF8)
                )
            }
        }
        try check(result)
    }

    /// Binds a copy of the bytes.
    package func bind(_ value: UnsafeRawBufferPointer, at index: Int32) throws {
        try bind(value, at: index, isCopied: true)
    }

    /// Binds bytes without copying them. They must remain in place, unchanged, until the parameter is bound again or ``clear()`` is
    /// called.
    ///
    /// Hazard: nothing checks that. The cache clears a borrowed statement when it is returned.
    func bindInPlace(_ value: UnsafeRawBufferPointer, at index: Int32) throws {
        try bind(value, at: index, isCopied: false)
    }

    /// Binds UTF-8 text without copying it, like ``bindInPlace(_:at:)``.
    func bindInPlace(utf8: UnsafeRawBufferPointer, at index: Int32) throws {
        // A nil pointer would bind NULL.
        guard let start = utf8.baseAddress, !utf8.isEmpty else {
            return try check(sqlite3_bind_text(pointer, index, "", 0, csqlite_transient()))
        }
        let characters = start.assumingMemoryBound(to: CChar.self)
        let length = UInt64(utf8.count)
        try check(sqlite3_bind_text64(pointer, index, characters, length, nil, UInt8(SQLITE_UTF8)))
    }

    /// Binds text that need not be well-formed UTF-8.
    package func bind(utf8: UnsafeRawBufferPointer, at index: Int32) throws {
        let characters = utf8.baseAddress?.assumingMemoryBound(to: CChar.self)
        try check(
            sqlite3_bind_text64(pointer, index, characters, UInt64(utf8.count), csqlite_transient(), UInt8(SQLITE_UTF8))
        )
    }

    /// Binds the 16 bytes of a UUID, in the order of its text form.
    package func bind(_ value: UUID, at index: Int32) throws {
        guard index >= 1, index <= parameterCount else { return try check(SQLITE_RANGE) }
        // A statement that is on a row rejects bindings, and the bytes that it uses must not change.
        guard !isActive else { return try check(SQLITE_MISUSE) }
        let base: UnsafeMutableRawPointer
        if let identifierBytes {
            base = identifierBytes
        } else {
            base = UnsafeMutableRawPointer.allocate(byteCount: 16 * Int(parameterCount), alignment: 16)
            identifierBytes = base
        }
        let slot = base + 16 * Int(index - 1)
        slot.storeBytes(of: value.uuid, as: uuid_t.self)
        try check(sqlite3_bind_blob(pointer, index, slot, 16, nil))
    }

    private func bind(_ value: UnsafeRawBufferPointer, at index: Int32, isCopied: Bool) throws {
        guard let start = value.baseAddress, !value.isEmpty else {
            // A nil pointer would bind NULL.
            return try check(sqlite3_bind_zeroblob(pointer, index, 0))
        }
        let disposal = isCopied ? csqlite_transient() : nil
        try check(sqlite3_bind_blob64(pointer, index, start, UInt64(value.count), disposal))
    }

    private func check(_ result: Int32) throws {
        guard result != SQLITE_OK else { return }
        guard !handle.isClosed else { throw Self.closedError(path: handle.path) }
        throw handle.error(result, while: "binding a value")
    }
}

/// The columns of the current row, by index from 0.
///
/// SQLite converts a value for an accessor of another storage class, so check ``type(at:)`` first. Accessors whose conversions
/// would do harm throw instead.
extension SQLiteStatement {
    /// The number of columns in a row.
    package var columnCount: Int32 { sqlite3_column_count(pointer) }

    /// The column's name, for messages.
    func columnName(at index: Int32) -> String {
        sqlite3_column_name(pointer, index).map { String(cString: $0) } ?? "\(index)"
    }

    /// The storage class of the value. Call it before any other accessor of the same column.
    package func type(at index: Int32) -> SQLiteColumnType {
        SQLiteColumnType(rawValue: sqlite3_column_type(pointer, index)) ?? .null
    }

    /// Whether the value is NULL.
    package func isNull(at index: Int32) -> Bool { sqlite3_column_type(pointer, index) == SQLITE_NULL }

    /// An integer; 0 for NULL.
    package func int64(at index: Int32) -> Int64 { sqlite3_column_int64(pointer, index) }

    /// A real; 0 for NULL.
    package func double(at index: Int32) -> Double { sqlite3_column_double(pointer, index) }

    /// The unconverted value.
    @inline(__always)
    func value(at index: Int32) -> SQLiteValue { SQLiteValue(sqlite3_column_value(pointer, index)) }

    /// A UUID from a blob of 16 bytes; anything else throws `.corrupt`.
    package func uuid(at index: Int32) throws -> UUID {
        guard let id = value(at: index).uuid else { throw columnError(at: index, expected: "a UUID of 16 bytes") }
        return id
    }

    /// Text with all of its bytes, including NUL. Throws `.corrupt` for invalid UTF-8, which is never repaired.
    package func text(at index: Int32) throws -> String {
        guard sqlite3_column_type(pointer, index) == SQLITE_TEXT else {
            throw columnError(at: index, expected: "text")
        }
        guard let start = sqlite3_column_text(pointer, index) else {
            throw handle.error(SQLITE_NOMEM, while: "reading a text")
        }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, index)))
        // Decoding repairs invalid UTF-8, and then the bytes differ from those of the column.
        var text = String(decoding: bytes, as: UTF8.self)
        let isWhole = text.withUTF8 { decoded in
            guard decoded.count == bytes.count else { return false }
            guard let left = decoded.baseAddress, let right = bytes.baseAddress else { return true }
            return memcmp(left, right, bytes.count) == 0
        }
        guard isWhole else { throw columnError(at: index, expected: "text in UTF-8") }
        return text
    }

    /// The bytes of a blob, valid until the next step or reset. Anything but a blob throws `.corrupt`.
    func blob(at index: Int32) throws -> UnsafeRawBufferPointer {
        guard sqlite3_column_type(pointer, index) == SQLITE_BLOB else {
            throw columnError(at: index, expected: "a blob")
        }
        return bytes(at: index)
    }

    /// The stored bytes of a text or a blob, valid until the next step or reset; empty for NULL.
    ///
    /// For reading possibly damaged values without validating them.
    package func bytes(at index: Int32) -> UnsafeRawBufferPointer {
        // The pointer comes first: fetching it may convert the value and so change its length.
        let start = sqlite3_column_blob(pointer, index)
        return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(pointer, index)))
    }

    /// The bytes of a text column as UTF-8, also in a file that stores UTF-16.
    package func utf8(at index: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_text(pointer, index)
        return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(pointer, index)))
    }

    private func columnError(at index: Int32, expected: String) -> HabitStoreError {
        let found: String
        switch type(at: index) {
        case .integer: found = "an integer"
        case .real: found = "a real"
        case .text: found = "a text of \(sqlite3_column_bytes(pointer, index)) bytes"
        case .blob: found = "a blob of \(sqlite3_column_bytes(pointer, index)) bytes"
        case .null: found = "NULL"
        }
        return HabitStoreError.damage(
            "column \(columnName(at: index)) holds \(found) where \(expected) belongs; check the store",
            at: HabitStoreError.Location(path: handle.path, attribute: columnName(at: index))
        )
    }
}

/// The storage class of a value, with SQLite's numbers.
package enum SQLiteColumnType: Int32, Sendable {
    case integer = 1
    case real = 2
    case text = 3
    case blob = 4
    case null = 5
}

/// A value of a row, valid until the statement's next step or reset. Its accessors take no lock and check nothing, whereas every
/// column accessor does both.
///
/// SQLite forbids this for connections that several threads may use at the same time; ours are opened for one thread at a time.
struct SQLiteValue: BitwiseCopyable {
    private let pointer: OpaquePointer?

    @inline(__always)
    init(_ pointer: OpaquePointer?) { self.pointer = pointer }

    /// Whether it is NULL.
    @inline(__always) var isNull: Bool { sqlite3_value_type(pointer) == SQLITE_NULL }

    /// A whole number; nil for a value of any other class.
    @inline(__always) var integer: Int64? {
        sqlite3_value_type(pointer) == SQLITE_INTEGER ? sqlite3_value_int64(pointer) : nil
    }

    /// A real number; nil for a value of any other class.
    @inline(__always) var real: Double? {
        sqlite3_value_type(pointer) == SQLITE_FLOAT ? sqlite3_value_double(pointer) : nil
    }

    /// An identifier; nil for anything but a blob of 16 bytes.
    @inline(__always) var uuid: UUID? {
        guard sqlite3_value_type(pointer) == SQLITE_BLOB, let bytes = sqlite3_value_blob(pointer),
            sqlite3_value_bytes(pointer) == 16
        else { return nil }
        // A UUID is just its 16 bytes; its initializer would cost a call into Foundation.
        return bytes.loadUnaligned(as: UUID.self)
    }

    /// The bytes of a text, including NUL; nil for a value of any other class, or if there is no memory for them.
    @inline(__always) var utf8: UnsafeRawBufferPointer? {
        guard sqlite3_value_type(pointer) == SQLITE_TEXT, let start = sqlite3_value_text(pointer) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(pointer)))
    }
}

/// The records that statements visited: they call the SQL function `habitstore_visit(kind, id)` for each.
///
/// SQLite calls a nondeterministic function for each row before any condition that follows it, and does not evaluate conditions
/// that an index answers. So the calls correspond to the entries of the index range or of the table.
final class SQLiteVisits {
    /// The visited kind; the number is the function's first argument.
    enum Kind: Int32 {
        /// A row of the fetched entity.
        case row = 0
        /// A row of the fetched entity in one of several index ranges that the query unites.
        case branch = 1
        /// A record that a relationship leads to.
        case related = 2
    }

    private var rows = 0
    private var branches: Set<[UInt8]> = []
    private var related = 0

    /// Sets the counts to 0.
    func reset() { (rows, branches, related) = (0, [], 0) }

    /// The number of visited records. One in several ranges of a union counts once.
    var count: Int { max(rows, branches.count) + related }

    fileprivate func note(_ kind: Int32, _ id: UnsafeRawBufferPointer) {
        switch Kind(rawValue: kind) {
        case .row: rows += 1
        case .branch: branches.insert(Array(id))
        case .related, nil: related += 1
        }
    }
}

extension SQLiteConnection {
    /// The counter of this connection; its first use registers the function.
    func countingVisits() throws -> SQLiteVisits {
        try checkOpen()
        if let visits { return visits }
        let counter = SQLiteVisits()
        let result = sqlite3_create_function_v2(
            handle.pointer,
            "habitstore_visit",
            2,
            SQLITE_UTF8 | SQLITE_DIRECTONLY,
            Unmanaged.passRetained(counter).toOpaque(),
            { context, _, arguments in
                if let data = sqlite3_user_data(context), let arguments, let kind = arguments[0], let id = arguments[1]
                {
                    let counter = Unmanaged<SQLiteVisits>.fromOpaque(data).takeUnretainedValue()
                    // SQLite requires asking for the bytes before the length.
                    let bytes = sqlite3_value_blob(id)
                    let count = Int(sqlite3_value_bytes(id))
                    counter.note(sqlite3_value_int(kind), UnsafeRawBufferPointer(start: bytes, count: count))
                }
                sqlite3_result_int(context, 1)
            },
            nil,
            nil,
            { data in
                if let data { Unmanaged<SQLiteVisits>.fromOpaque(data).release() }
            }
        )
        guard result == SQLITE_OK else { throw handle.error(result, while: "adding a function") }
        visits = counter
        return counter
    }
}

extension SQLiteStatement {
    /// The number of rows that the statement moved to in scans of whole tables or indexes since the last call.
    func takeScanSteps() -> Int {
        guard !handle.isClosed else { return 0 }
        return Int(sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1))
    }
}
