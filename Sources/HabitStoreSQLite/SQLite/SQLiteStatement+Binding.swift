internal import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// Binding by index, from 1 as SQLite counts parameters.
extension SQLiteStatement {
    /// Binds NULL.
    func bindNull(at index: Int32) throws {
        try check(sqlite3_bind_null(pointer, index))
    }

    /// Binds an integer.
    func bind(_ value: Int64, at index: Int32) throws {
        try check(sqlite3_bind_int64(pointer, index, value))
    }

    /// Binds a real. A NaN is refused: SQLite would make it NULL in silence.
    ///
    /// Hazard: a column of type REAL loses the sign of -0.0, which is stored as the integer 0; one of type ANY keeps
    /// it.
    func bind(_ value: Double, at index: Int32) throws {
        guard !value.isNaN else {
            throw HabitStoreError(.invalidValue, "NaN cannot be stored")
        }
        try check(sqlite3_bind_double(pointer, index, value))
    }

    /// Binds text, with all that is in it, also NUL.
    func bind(_ value: String, at index: Int32) throws {
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
    func bind(_ value: UnsafeRawBufferPointer, at index: Int32) throws {
        try bind(value, at: index, isCopied: true)
    }

    /// Binds bytes that stay where they are, and unchanged, until the parameter is bound again or ``clear()`` is
    /// called.
    ///
    /// Hazard: nothing checks that. A statement that is borrowed from the cache is cleared when it is given back.
    func bindInPlace(_ value: UnsafeRawBufferPointer, at index: Int32) throws {
        try bind(value, at: index, isCopied: false)
    }

    /// Binds text, UTF-8 that stays where it is as with ``bindInPlace(_:at:)``.
    func bindInPlace(utf8: UnsafeRawBufferPointer, at index: Int32) throws {
        // A nil pointer would bind NULL.
        guard let start = utf8.baseAddress, !utf8.isEmpty else {
            return try check(sqlite3_bind_text(pointer, index, "", 0, csqlite_transient()))
        }
        let characters = start.assumingMemoryBound(to: CChar.self)
        let length = UInt64(utf8.count)
        try check(sqlite3_bind_text64(pointer, index, characters, length, nil, UInt8(SQLITE_UTF8)))
    }

    /// Binds the 16 bytes of a UUID, in the order in which they are written.
    func bind(_ value: UUID, at index: Int32) throws {
        guard index >= 1, index <= parameterCount else { return try check(SQLITE_RANGE) }
        // A statement with a row under it refuses to be bound, and its bytes must not change under it.
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
