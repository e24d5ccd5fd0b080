internal import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

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
