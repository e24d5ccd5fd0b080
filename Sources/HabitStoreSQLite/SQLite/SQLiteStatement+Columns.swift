internal import CSQLite
import Foundation
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// The columns of the current row, by index from 0.
///
/// SQLite converts a value for an accessor of another storage class, so check ``type(at:)`` first. Accessors whose conversions
/// would do harm throw instead.
extension SQLiteStatement {
    /// The number of columns in a row.
    var columnCount: Int32 { sqlite3_column_count(pointer) }

    /// The column's name, for messages.
    func columnName(at index: Int32) -> String {
        sqlite3_column_name(pointer, index).map { String(cString: $0) } ?? "\(index)"
    }

    /// The storage class of the value. Call it before any other accessor of the same column.
    func type(at index: Int32) -> SQLiteColumnType {
        SQLiteColumnType(rawValue: sqlite3_column_type(pointer, index)) ?? .null
    }

    /// Whether the value is NULL.
    func isNull(at index: Int32) -> Bool { sqlite3_column_type(pointer, index) == SQLITE_NULL }

    /// An integer; 0 for NULL.
    func int64(at index: Int32) -> Int64 { sqlite3_column_int64(pointer, index) }

    /// A real; 0 for NULL.
    func double(at index: Int32) -> Double { sqlite3_column_double(pointer, index) }

    /// The unconverted value.
    @inline(__always)
    func value(at index: Int32) -> SQLiteValue { SQLiteValue(sqlite3_column_value(pointer, index)) }

    /// A UUID from a blob of 16 bytes; anything else throws `.corrupt`.
    func uuid(at index: Int32) throws -> UUID {
        guard let id = value(at: index).uuid else { throw columnError(at: index, expected: "a UUID of 16 bytes") }
        return id
    }

    /// Text with all of its bytes, including NUL. Throws `.corrupt` for invalid UTF-8, which is never repaired.
    func text(at index: Int32) throws -> String {
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
    func bytes(at index: Int32) -> UnsafeRawBufferPointer {
        // The pointer comes first: fetching it may convert the value and so change its length.
        let start = sqlite3_column_blob(pointer, index)
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
