import CLMDB
@_spi(Engines) import HabitStore

extension LMDBTransaction {
    /// The value of a key, or nil. It points into the map: see ``LMDBRecord``.
    @inline(__always)
    func get(_ database: LMDBDatabase, _ key: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
        let handle = try activeHandle()
        var rawKey = try checkedKey(key)
        if let snapshot { return try snapshot.get(database, key) }
        var value = MDB_val()
        let returnCode = mdb_get(handle, try rawDatabase(database), &rawKey, &value)
        guard returnCode == 0 else {
            if returnCode == MDB_NOTFOUND { return nil }
            throw error(returnCode, during: "reading a value")
        }
        return UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }

    /// The value of a key, or nil. It points into the map: see ``LMDBRecord``.
    func get(_ database: LMDBDatabase, _ key: [UInt8]) throws -> UnsafeRawBufferPointer? {
        try key.withUnsafeBytes { try get(database, $0) }
    }

    /// The number of records in a database. LMDB stores it, so the cost does not depend on it.
    func count(_ database: LMDBDatabase) throws -> Int {
        let handle = try activeHandle()
        if let snapshot { return try snapshot.tree(database.index).entries }
        var statistics = MDB_stat()
        let returnCode = mdb_stat(handle, try rawDatabase(database), &statistics)
        guard returnCode == 0 else { throw error(returnCode, during: "counting records") }
        return Int(statistics.ms_entries)
    }

    /// A cursor, before the first record. It ends with the transaction, or when it is released.
    func cursor(_ database: LMDBDatabase) throws -> LMDBCursor {
        let handle = try activeHandle()
        if let snapshot { return LMDBCursor(transaction: self, try snapshot.tree(database.index)) }
        var cursor: OpaquePointer?
        let returnCode = mdb_cursor_open(handle, try rawDatabase(database), &cursor)
        guard returnCode == 0, let cursor else { throw error(returnCode, during: "opening a cursor") }
        register(cursor: cursor)
        return LMDBCursor(transaction: self, handle: cursor)
    }
}
