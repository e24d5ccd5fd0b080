import CLMDB
import HabitStore

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
