import HabitStore
@_spi(Engines) import OrderedKeys

extension LMDBTransaction {
    /// Walks the records whose key is at least `lower` and below `upper`, in key order or backwards.
    ///
    /// `body` gets pointers into the map (see ``LMDBRecord``) and returns whether to continue. Bounds are optional.
    func forEach(
        _ database: LMDBDatabase,
        from lower: [UInt8] = [],
        to upper: [UInt8]? = nil,
        reverse: Bool = false,
        _ body: (LMDBRecord) throws -> Bool
    ) throws {
        let cursor = try cursor(database)
        if reverse {
            try walkBackwards(cursor, from: lower, to: upper, body)
        } else {
            try walkForwards(cursor, from: lower, to: upper, body)
        }
    }

    /// Walks the records whose key begins with `prefix`, in key order or backwards.
    func forEach(
        _ database: LMDBDatabase,
        prefix: [UInt8],
        reverse: Bool = false,
        _ body: (LMDBRecord) throws -> Bool
    ) throws {
        try forEach(database, from: prefix, to: KeyOrder.successor(ofPrefix: prefix), reverse: reverse, body)
    }

    private func walkForwards(
        _ cursor: LMDBCursor,
        from lower: [UInt8],
        to upper: [UInt8]?,
        _ body: (LMDBRecord) throws -> Bool
    ) throws {
        var record = lower.isEmpty ? try cursor.first() : try cursor.seek(lower)
        guard let upper else {
            while let found = record {
                guard try body(found) else { return }
                record = try cursor.next()
            }
            return
        }
        try upper.withUnsafeBytes { upper in
            while let found = record, KeyOrder.isBefore(found.key, upper) {
                guard try body(found) else { return }
                record = try cursor.next()
            }
        }
    }

    private func walkBackwards(
        _ cursor: LMDBCursor,
        from lower: [UInt8],
        to upper: [UInt8]?,
        _ body: (LMDBRecord) throws -> Bool
    ) throws {
        var record: LMDBRecord?
        if let upper {
            guard !upper.isEmpty else { return }
            record = try cursor.seek(upper) == nil ? try cursor.last() : try cursor.previous()
        } else {
            record = try cursor.last()
        }
        try lower.withUnsafeBytes { lower in
            while let found = record, !KeyOrder.isBefore(found.key, lower) {
                guard try body(found) else { return }
                record = try cursor.previous()
            }
        }
    }
}
