internal import CSQLite
import Foundation
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// Binding by index; SQLite counts parameters from 1.
extension SQLiteStatement {
    /// Binds NULL.
    func bindNull(at index: Int32) throws {
        try check(sqlite3_bind_null(pointer, index))
    }

    /// Binds an integer.
    func bind(_ value: Int64, at index: Int32) throws {
        try check(sqlite3_bind_int64(pointer, index, value))
    }

    /// Binds a real number. Throws for NaN, which SQLite would silently convert to NULL.
    ///
    /// Hazard: a column of type REAL loses the sign of -0.0, which is stored as the integer 0; one of type ANY keeps it.
    func bind(_ value: Double, at index: Int32) throws {
        guard !value.isNaN else {
            throw HabitStoreError(.invalidValue, "NaN cannot be stored")
        }
        try check(sqlite3_bind_double(pointer, index, value))
    }

    /// Binds text with all of its bytes, including NUL.
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

    /// Binds the 16 bytes of a UUID, in the order of its text form.
    func bind(_ value: UUID, at index: Int32) throws {
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
