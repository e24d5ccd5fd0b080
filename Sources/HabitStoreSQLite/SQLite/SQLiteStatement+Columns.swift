internal import CSQLite
import Foundation
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// The columns of the row that the last step gave, by index from 0.
///
/// An accessor for another storage class than the value's own would convert it in SQLite, so ask ``type(at:)`` first;
/// the ones that can be wrong in a way that matters throw instead.
extension SQLiteStatement {
    /// How many columns a row has.
    var columnCount: Int32 { sqlite3_column_count(pointer) }

    /// The column's name, for messages.
    func columnName(at index: Int32) -> String {
        sqlite3_column_name(pointer, index).map { String(cString: $0) } ?? "\(index)"
    }

    /// The storage class of the value. Ask before any other accessor of the same column.
    func type(at index: Int32) -> SQLiteColumnType {
        SQLiteColumnType(rawValue: sqlite3_column_type(pointer, index)) ?? .null
    }

    /// Whether the value is NULL.
    func isNull(at index: Int32) -> Bool { sqlite3_column_type(pointer, index) == SQLITE_NULL }

    /// An integer; 0 for NULL.
    func int64(at index: Int32) -> Int64 { sqlite3_column_int64(pointer, index) }

    /// A real; 0 for NULL.
    func double(at index: Int32) -> Double { sqlite3_column_double(pointer, index) }

    /// The value itself.
    @inline(__always)
    func value(at index: Int32) -> SQLiteValue { SQLiteValue(sqlite3_column_value(pointer, index)) }

    /// A UUID from a blob of 16 bytes; anything else throws `.corrupt`.
    func uuid(at index: Int32) throws -> UUID {
        guard let id = value(at: index).uuid else { throw columnError(at: index, expected: "a UUID of 16 bytes") }
        return id
    }

    /// Text with all its bytes, also NUL. Bytes that are no UTF-8 throw `.corrupt`, and are never replaced.
    func text(at index: Int32) throws -> String {
        guard sqlite3_column_type(pointer, index) == SQLITE_TEXT else {
            throw columnError(at: index, expected: "text")
        }
        guard let start = sqlite3_column_text(pointer, index) else {
            throw handle.error(SQLITE_NOMEM, while: "reading a text")
        }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, index)))
        // Decoding repairs what is no UTF-8; then the result has other bytes than the column.
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

    /// The bytes of a text or a blob as they are stored, valid until the next step or reset; none for NULL.
    ///
    /// For reading what may be damaged without judging it.
    func bytes(at index: Int32) -> UnsafeRawBufferPointer {
        // The pointer comes first: it is what may convert the value, and so change its length.
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
