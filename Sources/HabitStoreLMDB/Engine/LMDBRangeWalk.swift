@_spi(Engines) import OrderedKeys

/// Walks key ranges with one cursor.
struct LMDBRangeWalk {
    private let cursor: LMDBCursor

    init(_ cursor: LMDBCursor) { self.cursor = cursor }

    /// Passes the records of the ranges to `body` in key order, or backwards, until it returns false.
    ///
    /// - Parameter ranges: disjoint and ascending.
    @inline(__always)
    func forEach(_ ranges: [KeyRange], reverse: Bool, _ body: (LMDBRecord) throws -> Bool) throws {
        if reverse {
            for range in ranges.reversed() { guard try backwards(range, body) else { return } }
        } else {
            for range in ranges { guard try forwards(range, body) else { return } }
        }
    }

    /// - Returns: whether to continue.
    @inline(__always)
    private func forwards(_ range: KeyRange, _ body: (LMDBRecord) throws -> Bool) throws -> Bool {
        var record = range.lower.isEmpty ? try cursor.first() : try cursor.seek(range.lower)
        guard let upper = range.upper else {
            while let found = record {
                guard try body(found) else { return false }
                record = try cursor.next()
            }
            return true
        }
        return try upper.withUnsafeBytes { upper in
            while let found = record, KeyOrder.isBefore(found.key, upper) {
                guard try body(found) else { return false }
                record = try cursor.next()
            }
            return true
        }
    }

    /// - Returns: whether to continue.
    @inline(__always)
    private func backwards(_ range: KeyRange, _ body: (LMDBRecord) throws -> Bool) throws -> Bool {
        var record: LMDBRecord?
        if let upper = range.upper {
            guard !upper.isEmpty else { return true }
            record = try cursor.seek(upper) == nil ? try cursor.last() : try cursor.previous()
        } else {
            record = try cursor.last()
        }
        return try range.lower.withUnsafeBytes { lower in
            while let found = record, !KeyOrder.isBefore(found.key, lower) {
                guard try body(found) else { return false }
                record = try cursor.previous()
            }
            return true
        }
    }
}
