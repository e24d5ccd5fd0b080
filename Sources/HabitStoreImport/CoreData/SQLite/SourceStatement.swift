internal import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

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

    /// Binds a number to a parameter, counted from 1.
    func bind(_ value: Int64, at parameter: Int) throws {
        let result = sqlite3_bind_int64(pointer, Int32(parameter), value)
        guard result == SQLITE_OK else { throw connection.error(result, "asking the database") }
    }

    /// Binds a text to a parameter, counted from 1.
    func bind(_ text: String, at parameter: Int) throws {
        let bytes = Array(text.utf8)
        let result = sqlite3_bind_text(pointer, Int32(parameter), bytes, Int32(bytes.count), csqlite_transient())
        guard result == SQLITE_OK else { throw connection.error(result, "asking the database") }
    }

    /// Binds a double to a parameter, counted from 1.
    func bind(_ number: Double, at parameter: Int) throws {
        let result = sqlite3_bind_double(pointer, Int32(parameter), number)
        guard result == SQLITE_OK else { throw connection.error(result, "asking the database") }
    }

    /// Resets the statement, so that it can run again.
    func reset() { sqlite3_reset(pointer) }

    /// Moves to the next row; false after the last.
    package func step() throws -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let result: throw connection.error(result, "reading rows")
        }
    }

    /// Runs the statement to its end and resets it.
    func run() throws {
        defer { reset() }
        while try step() {}
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
