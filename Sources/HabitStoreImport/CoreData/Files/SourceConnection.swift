internal import CSQLite
import Foundation
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// A connection to the private copy of another app's database. Use it from one thread at a time.
package final class SourceConnection {
    /// The path that errors name: that of the original.
    let path: String
    fileprivate(set) var pointer: OpaquePointer?
    private var known: SourceCatalog?

    /// Opens a copy with its log or journal, or its main file alone.
    ///
    /// - Parameter largestValueBytes: the maximum size of a row or value. Stored values are never larger than the file; larger ones come
    ///   from expressions in the schema.
    init(copy: String, of path: String, isMainFileAlone: Bool = false, largestValueBytes: Int) throws {
        self.path = path
        var pointer: OpaquePointer?
        let access = isMainFileAlone ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE
        // This program chose the copy's name, so it needs no escaping in a URI.
        let name = isMainFileAlone ? "file:\(copy)?immutable=1" : copy
        let result = sqlite3_open_v2(name, &pointer, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
        guard result == SQLITE_OK, let pointer else {
            sqlite3_close_v2(pointer)
            throw Self.error(result, nil, path, "opening the database")
        }
        self.pointer = pointer
        sqlite3_extended_result_codes(pointer, 1)
        // The database is untrusted: its schema must not call functions that access files or run code.
        var state: Int32 = 0
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_DEFENSIVE, 1, &state)
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, &state)
        // A view named like a table might never end.
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_ENABLE_VIEW, 0, &state)
        limit(pointer, largestValueBytes)
        // The copy of the main file must not change, so that it can still be read without the log.
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &state)
        try exec("PRAGMA trusted_schema = OFF")
        try exec("PRAGMA cell_size_check = ON")
        try exec("PRAGMA query_only = ON")
    }

    /// Opens an empty database for data that may exceed memory: private, unnamed, and removed with the connection or the process.
    ///
    /// - Parameter path: the path that errors name.
    init(scratchFor path: String) throws {
        self.path = path
        var pointer: OpaquePointer?
        let access = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
        let result = sqlite3_open_v2("", &pointer, access, nil)
        guard result == SQLITE_OK, let pointer else {
            sqlite3_close_v2(pointer)
            throw Self.error(result, nil, path, "making room for what is compared")
        }
        self.pointer = pointer
        sqlite3_extended_result_codes(pointer, 1)
        try exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -\(Self.scratchCacheKiB)")
    }

    private static let scratchCacheKiB = 8_192

    /// Opens another program's file in place, and keeps others from writing to it until the connection is closed. Nothing is written: the log
    /// stays, too.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if a program writes to it for longer, ``HabitStoreError/Code/permissionDenied`` if this one may not.
    init(holding path: String, busySeconds: Double) throws {
        self.path = path
        var pointer: OpaquePointer?
        let access = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
        let result = sqlite3_open_v2(path, &pointer, access, nil)
        guard result == SQLITE_OK, let pointer else {
            sqlite3_close_v2(pointer)
            throw Self.error(result, nil, path, "locking the file")
        }
        self.pointer = pointer
        sqlite3_extended_result_codes(pointer, 1)
        var state: Int32 = 0
        _ = csqlite_db_config_flag(pointer, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &state)
        sqlite3_busy_timeout(pointer, Int32(busySeconds * 1_000))
        let begun = sqlite3_exec(pointer, "BEGIN IMMEDIATE", nil, nil, nil)
        guard begun == SQLITE_OK else { throw error(begun, "locking the file") }
    }

    /// Limits what the file's schema, and statements built from its names, can consume. Tables may be as wide as SQLite allows at most.
    private func limit(_ pointer: OpaquePointer, _ largestValueBytes: Int) {
        for (limit, most) in [
            // The witness converts bytes to hexadecimal.
            (SQLITE_LIMIT_LENGTH, Int32(clamping: 2 * max(largestValueBytes, Self.leastLength))),
            (SQLITE_LIMIT_SQL_LENGTH, 1_000_000), (SQLITE_LIMIT_COLUMN, 2_000), (SQLITE_LIMIT_EXPR_DEPTH, 500),
            (SQLITE_LIMIT_COMPOUND_SELECT, 100), (SQLITE_LIMIT_VDBE_OP, 1_000_000),
            (SQLITE_LIMIT_FUNCTION_ARG, Int32(Self.mostArguments)),
            (SQLITE_LIMIT_ATTACHED, 0), (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
            (SQLITE_LIMIT_VARIABLE_NUMBER, 100), (SQLITE_LIMIT_TRIGGER_DEPTH, 1), (SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            sqlite3_limit(pointer, limit, most)
        }
    }

    /// A minimum, because small files have expressions too, and SQLite builds result rows within the same limit.
    private static let leastLength = 1 << 20

    deinit { close() }

    /// Closes the connection.
    func close() {
        sqlite3_close_v2(pointer)
        pointer = nil
    }

    package func prepare(_ sql: String) throws -> SourceStatement { try SourceStatement(sql, self) }

    /// The name of the collation by which a column is compared unless a statement says otherwise.
    func collation(of column: String, in table: String) -> String {
        var name: UnsafePointer<CChar>?
        let result = sqlite3_table_column_metadata(pointer, "main", table, column, nil, &name, nil, nil, nil)
        guard result == SQLITE_OK, let name else { return "BINARY" }
        return String(cString: name).uppercased()
    }

    /// Adds the collation ``byteCollation``, which compares texts by their UTF-8 bytes in a file of any encoding.
    func addByteCollation() {
        _ = sqlite3_create_collation(pointer, Self.byteCollation, SQLITE_UTF8, nil) {
            compareBytes($2, Int($1), $4, Int($3))
        }
    }

    static let byteCollation = "habitstore_bytes"

    /// Prepares a statement with its parameters, in order.
    func prepare(_ sql: String, _ parameters: SourceValue...) throws -> SourceStatement {
        let statement = try prepare(sql)
        try statement.bind(parameters)
        return statement
    }

    /// The first column of each row, as text.
    package func texts(_ sql: String) throws -> [String] {
        let statement = try prepare(sql)
        var result: [String] = []
        while try statement.step() { result.append(statement.text(0) ?? "") }
        return result
    }

    /// The first column of the first row, as a number.
    package func int(_ sql: String) throws -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.optionalInt(0) : nil
    }

    /// The tables, divided into readable and unreadable ones.
    package func catalog() throws -> SourceCatalog {
        if let known { return known }
        let catalog = try SourceCatalog(self)
        known = catalog
        return catalog
    }

    /// Whether the last call failed because it needs something of the app's: a module, a tokenizer or a function. The module of a virtual
    /// table may also report its table as damaged.
    func needsApp(isVirtual: Bool = false) -> Bool {
        let code = sqlite3_errcode(pointer) & 0xff
        return code == SQLITE_ERROR || (isVirtual && code == SQLITE_CORRUPT)
    }

    /// Replaces unknown collations of the app by a comparison of bytes. No statement here depends on the order of texts, but indexes can no
    /// longer be checked.
    func standInForCollations() {
        sqlite3_collation_needed(pointer, nil) { _, database, encoding, name in
            // Already registered for UTF-8; SQLite converts.
            if name.map({ String(cString: $0) }) == SourceConnection.byteCollation { return }
            _ = sqlite3_create_collation(database, name, encoding, nil) { _, leftCount, left, rightCount, right in
                compareBytes(left, Int(leftCount), right, Int(rightCount))
            }
        }
    }

    /// Runs statements without results.
    func exec(_ sql: String) throws {
        let result = sqlite3_exec(pointer, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw error(result, "opening the database") }
    }

    func error(_ code: Int32, _ action: String) -> HabitStoreError { Self.error(code, pointer, path, action) }

    /// A name quoted for SQL.
    package static func quoted(_ name: String) -> String {
        "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    /// A text quoted for SQL.
    static func literal(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: "''") + "'" }

    /// The condition that at least one expression is not null. The depth of an `OR` chain grows with its length, and SQLite limits the
    /// depth of expressions.
    static func isAnyFilled(_ expressions: [String]) -> String {
        var parts = expressions
        while parts.count > 1 {
            parts = stride(from: 0, to: parts.count, by: mostArguments).map { start in
                let group = parts[start..<min(start + mostArguments, parts.count)]
                return group.count == 1 ? group[start] : "coalesce(\(group.joined(separator: ", ")))"
            }
        }
        return "(\(parts.first ?? "NULL") NOT NULL)"
    }

    private static let mostArguments = 100

    private static func error(
        _ code: Int32,
        _ database: OpaquePointer?,
        _ path: String,
        _ action: String
    ) -> HabitStoreError {
        let meaning: (HabitStoreError.Code, String)
        switch code & 0xff {
        case SQLITE_NOTADB: meaning = (.notAStore, "the file is not a SQLite database, or it is encrypted")
        case SQLITE_CORRUPT: meaning = (.corrupt, "\(action) failed: the database is damaged")
        case SQLITE_FULL: meaning = (.full, "\(action) failed: no space is left for the private copy")
        case SQLITE_IOERR: meaning = (.inputOutput, "\(action) failed: the copy cannot be read")
        case SQLITE_BUSY, SQLITE_LOCKED: meaning = (.busy, "\(action) failed: another program is writing to it")
        case SQLITE_READONLY, SQLITE_PERM: meaning = (.permissionDenied, "\(action) failed: it may not be written")
        case SQLITE_NOMEM, SQLITE_TOOBIG: meaning = (.limitExceeded, "\(action) failed: a row is too large")
        default: meaning = (.corrupt, "\(action) failed (SQLite code \(code))")
        }
        return HabitStoreError(
            meaning.0,
            meaning.1,
            at: .init(path: path),
            detail: database.map { String(cString: sqlite3_errmsg($0)) }
        )
    }
}

/// A statement on another app's database. Columns are read by the type of the stored value, whatever type was declared.
package final class SourceStatement {
    private let connection: SourceConnection
    private var pointer: OpaquePointer?

    init(_ sql: String, _ connection: SourceConnection) throws {
        self.connection = connection
        let result = sqlite3_prepare_v2(connection.pointer, sql, -1, &pointer, nil)
        guard result == SQLITE_OK else { throw connection.error(result, "asking the database") }
    }

    deinit { sqlite3_finalize(pointer) }

    package var columnCount: Int { Int(sqlite3_column_count(pointer)) }

    package func columnName(_ column: Int) -> String {
        sqlite3_column_name(pointer, Int32(column)).map { String(cString: $0) } ?? ""
    }

    /// Starts over with other parameters, in order.
    func bind(_ parameters: [SourceValue]) throws {
        reset()
        for (place, value) in parameters.enumerated() {
            let parameter = Int32(place + 1)
            let result =
                switch value {
                case .null: sqlite3_bind_null(pointer, parameter)
                case .int(let number): sqlite3_bind_int64(pointer, parameter, number)
                case .real(let number): sqlite3_bind_double(pointer, parameter, number)
                case .text(let text): bind(Array(text.utf8), at: parameter)
                case .malformedText(let bytes): bind(Array(bytes), at: parameter)
                case .blob(let bytes):
                    sqlite3_bind_blob(pointer, parameter, Array(bytes), Int32(bytes.count), csqlite_transient())
                }
            guard result == SQLITE_OK else { throw connection.error(result, "asking the database") }
        }
    }

    private func bind(_ text: [UInt8], at parameter: Int32) -> Int32 {
        sqlite3_bind_text(pointer, parameter, text, Int32(text.count), csqlite_transient())
    }

    /// Resets the statement, so that it can run again.
    private func reset() { sqlite3_reset(pointer) }

    /// Starts over with other parameters, and moves to the first row; false if there is none.
    func find(_ parameters: SourceValue...) throws -> Bool {
        try bind(parameters)
        return try step()
    }

    /// Whether there is a row for the parameters.
    func has(_ parameters: SourceValue...) throws -> Bool {
        defer { reset() }
        try bind(parameters)
        return try step()
    }

    /// Runs the statement with parameters to its end.
    func run(_ parameters: SourceValue...) throws {
        defer { reset() }
        try bind(parameters)
        while try step() {}
    }

    /// Moves to the next row; false after the last.
    package func step() throws -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let result: throw connection.error(result, "reading rows")
        }
    }

    /// The stored value in a column of the row.
    package func value(_ column: Int) -> SourceValue {
        switch sqlite3_column_type(pointer, Int32(column)) {
        case SQLITE_INTEGER: return .int(sqlite3_column_int64(pointer, Int32(column)))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(pointer, Int32(column)))
        case SQLITE_TEXT:
            guard let start = sqlite3_column_text(pointer, Int32(column)) else { return .text("") }
            let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, Int32(column))))
            guard let text = String(validating: bytes, as: UTF8.self) else { return .malformedText(Data(bytes)) }
            return .text(text)
        case SQLITE_BLOB: return .blob(blob(column))
        default: return .null
        }
    }

    /// A column as a number; nil for null.
    package func optionalInt(_ column: Int) -> Int64? {
        guard sqlite3_column_type(pointer, Int32(column)) != SQLITE_NULL else { return nil }
        return sqlite3_column_int64(pointer, Int32(column))
    }

    /// The integer in a column; nil for other types, which SQLite would convert.
    func integer(_ column: Int) -> Int64? {
        guard sqlite3_column_type(pointer, Int32(column)) == SQLITE_INTEGER else { return nil }
        return sqlite3_column_int64(pointer, Int32(column))
    }

    /// A column as a double; nil for null.
    package func optionalDouble(_ column: Int) -> Double? {
        guard sqlite3_column_type(pointer, Int32(column)) != SQLITE_NULL else { return nil }
        return sqlite3_column_double(pointer, Int32(column))
    }

    /// A column as text; nil for null. Invalid UTF-8 becomes U+FFFD.
    package func text(_ column: Int) -> String? {
        guard let start = sqlite3_column_text(pointer, Int32(column)) else { return nil }
        let count = Int(sqlite3_column_bytes(pointer, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func blob(_ column: Int) -> Data {
        guard let start = sqlite3_column_blob(pointer, Int32(column)) else { return Data() }
        return Data(bytes: start, count: Int(sqlite3_column_bytes(pointer, Int32(column))))
    }
}

/// Compares bytes: negative if the first are less, as `memcmp` does, and a beginning is less than the whole.
private func compareBytes(
    _ left: UnsafeRawPointer?,
    _ leftCount: Int,
    _ right: UnsafeRawPointer?,
    _ rightCount: Int
) -> Int32 {
    if let left, let right {
        let order = memcmp(left, right, min(leftCount, rightCount))
        if order != 0 { return order }
    }
    return Int32(clamping: leftCount - rightCount)
}

extension SourceStatement {
    /// How a value and one of another statement follow each other: NULL, numbers, texts by their bytes, bytes
    /// (https://www.sqlite.org/datatype3.html#sort_order). Negative if this one comes first; numbers of one size in two classes are equal.
    func order(_ column: Int, before other: SourceStatement, _ otherColumn: Int) -> Int32 {
        let (here, there) = (Int32(column), Int32(otherColumn))
        let types = (sqlite3_column_type(pointer, here), sqlite3_column_type(other.pointer, there))
        switch types {
        case (SQLITE_INTEGER, SQLITE_INTEGER):
            let (left, right) = (sqlite3_column_int64(pointer, here), sqlite3_column_int64(other.pointer, there))
            return left == right ? 0 : left < right ? -1 : 1
        case (SQLITE_TEXT, SQLITE_TEXT), (SQLITE_BLOB, SQLITE_BLOB):
            return compareBytes(other, here, there)
        default:
            return SourceValue.order(value(column), before: other.value(otherColumn))
        }
    }

    /// Whether a value and one of another statement are of one class, and the same to the last bit.
    func isIdentical(_ column: Int, to other: SourceStatement, _ otherColumn: Int) -> Bool {
        let (here, there) = (Int32(column), Int32(otherColumn))
        let type = sqlite3_column_type(pointer, here)
        guard type == sqlite3_column_type(other.pointer, there) else { return false }
        switch type {
        case SQLITE_INTEGER: return sqlite3_column_int64(pointer, here) == sqlite3_column_int64(other.pointer, there)
        case SQLITE_FLOAT:
            return sqlite3_column_double(pointer, here).bitPattern
                == sqlite3_column_double(other.pointer, there).bitPattern
        case SQLITE_NULL: return true
        default: return compareBytes(other, here, there) == 0
        }
    }

    /// Compares the bytes of two texts, or of two values of bytes.
    private func compareBytes(_ other: SourceStatement, _ here: Int32, _ there: Int32) -> Int32 {
        func bytes(_ statement: OpaquePointer?, _ column: Int32) -> (UnsafeRawPointer?, Int) {
            let isText = sqlite3_column_type(statement, column) == SQLITE_TEXT
            // Asking for the text first converts the file's encoding, and only then is the count right.
            let start =
                isText
                ? sqlite3_column_text(statement, column).map { UnsafeRawPointer($0) }
                : sqlite3_column_blob(statement, column)
            return (start, Int(sqlite3_column_bytes(statement, column)))
        }
        let (left, right) = (bytes(pointer, here), bytes(other.pointer, there))
        return HabitStoreImport.compareBytes(left.0, left.1, right.0, right.1)
    }
}

extension SourceValue {
    /// How two values follow each other, as in ``SourceStatement/order(_:before:_:)``.
    static func order(_ left: SourceValue, before right: SourceValue) -> Int32 {
        switch (left, right) {
        case (.int(let left), .int(let right)): return left == right ? 0 : left < right ? -1 : 1
        case (.real(let left), .real(let right)): return left == right ? 0 : left < right ? -1 : 1
        case (.int(let whole), .real(let number)): return order(whole, before: number)
        case (.real(let number), .int(let whole)): return -order(whole, before: number)
        default:
            guard left.rank == right.rank else { return left.rank < right.rank ? -1 : 1 }
            let bytes = (left.bytes, right.bytes)
            return bytes.0.withUnsafeBytes { left in
                bytes.1.withUnsafeBytes { right in
                    compareBytes(left.baseAddress, left.count, right.baseAddress, right.count)
                }
            }
        }
    }

    /// Exact where a conversion to a double would round.
    private static func order(_ whole: Int64, before number: Double) -> Int32 {
        guard number < 0x1p63 else { return -1 }
        guard number >= -0x1p63 else { return 1 }
        let floor = Int64(number.rounded(.down))
        if whole != floor { return whole < floor ? -1 : 1 }
        return Double(floor) == number ? 0 : -1
    }

    private var rank: Int {
        switch self {
        case .null: 0
        case .int, .real: 1
        case .text, .malformedText: 2
        case .blob: 3
        }
    }

    /// A letter for the class, and the value's bytes: two values have the same only if they are the same to the last bit.
    var exactBytes: Data {
        switch self {
        case .null: Data("n".utf8)
        case .int(let number): Data("i".utf8) + withUnsafeBytes(of: number.bigEndian) { Data($0) }
        case .real(let number): Data("r".utf8) + withUnsafeBytes(of: number.bitPattern.bigEndian) { Data($0) }
        case .text, .malformedText: Data("t".utf8) + bytes
        case .blob: Data("b".utf8) + bytes
        }
    }

    /// The bytes of a text or of bytes.
    private var bytes: Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .malformedText(let bytes), .blob(let bytes): bytes
        case .null, .int, .real: Data()
        }
    }
}

/// A value in a column of another app's database, by its storage class.
package enum SourceValue: Sendable, Hashable {
    case null
    case int(Int64)
    case real(Double)
    case text(String)
    /// A value with the storage class text that is not valid UTF-8.
    case malformedText(Data)
    case blob(Data)

    package var isNull: Bool { self == .null }
}

/// The tables of another app's database, divided into those that can be read and those that only the app can read.
package struct SourceCatalog {
    /// A table that needs a module, a tokenizer or a function of its app.
    package struct Unreadable: Hashable {
        package let name: String
        /// Whether it is a virtual table. Its module stores the contents in other tables, which are read like any other.
        package let isVirtual: Bool
        /// SQLite's message, which names the missing module.
        let reason: String

        /// The table and the missing part, for reports.
        package var description: String { "\(name) (\(reason))" }

        var oddity: CoreDataOddity {
            isVirtual
                ? CoreDataOddity(
                    "virtualTableNotRead",
                    "the virtual table \(description) is left alone: it needs its app"
                )
                : CoreDataOddity("tableUnreadable", "the table \(description) is not read: it needs its app")
        }
    }

    /// The names of the readable tables, sorted.
    package private(set) var tables: [String] = []
    package private(set) var unreadable: [Unreadable] = []

    /// Tries to read a row of each table.
    ///
    /// - Throws: errors from reading a damaged database.
    init(_ connection: SourceConnection) throws {
        let rows = try connection.prepare(
            "SELECT name, sql LIKE 'CREATE VIRTUAL TABLE%' FROM sqlite_master WHERE type = 'table' ORDER BY name"
        )
        while try rows.step() {
            let (name, isVirtual) = (rows.text(0) ?? "", rows.optionalInt(1) == 1)
            do {
                try Self.probe(name, isVirtual, connection)
                tables.append(name)
            } catch let error as HabitStoreError where connection.needsApp(isVirtual: isVirtual) {
                // SQLite's message for rows stored in the order of an unknown collation.
                let reason = error.detail == "no query solution" ? "no such collation sequence" : error.detail
                unreadable.append(Unreadable(name: name, isVirtual: isVirtual, reason: reason ?? error.message))
            }
        }
    }

    /// Some modules fail only when asked for a row.
    private static func probe(_ name: String, _ isVirtual: Bool, _ connection: SourceConnection) throws {
        let table = SourceConnection.quoted(name)
        let row = try connection.prepare("SELECT * FROM \(table) LIMIT 1")
        guard isVirtual else { return }
        _ = try row.step()
        _ = try connection.int("SELECT count(*) FROM \(table)")
    }
}
