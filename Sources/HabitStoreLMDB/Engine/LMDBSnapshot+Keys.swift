import Foundation
import HabitStore
@_spi(Engines) import OrderedKeys

/// Information that keys provide without their records.
@_spi(Engines) extension LMDBSnapshot {
    /// The maximum number of keys that are counted one by one.
    private static let mostCounted = 10_000

    /// The database of an access path; nil if it has none.
    func database(_ access: KeyPlan.Access, _ entity: Int) throws -> LMDBDatabase? {
        let table = catalog.tables[entity]
        switch access {
        case .nothing: return nil
        case .records: return try catalog.records(table)
        case .index(let place): return try catalog.database(table.indexes[place])
        }
    }

    /// The number of keys in ranges, of which at most `most` are counted one by one.
    package func countKeys(_ access: KeyPlan.Access, _ ranges: [KeyRange], _ entity: Int, upTo most: Int) throws -> Int
    {
        keyCounts += 1
        guard let database = try database(access, entity) else { return 0 }
        if ranges.count == 1, ranges[0].isAll { return try transaction.count(database) }
        guard most < Int.max else { return try min(transaction.count(database), estimate(database, ranges)) }
        var count = 0
        try LMDBRangeWalk(transaction.cursor(database)).forEach(ranges, reverse: false) { _ in
            count += 1
            return count < most
        }
        return count
    }

    /// The approximate number of keys that a plan reaches: up to ten thousand are counted, and the rest is estimated from the part
    /// of the range that they cover.
    public func estimatedRows(_ plan: KeyPlan) throws -> Int? {
        guard let database = try database(plan.access, plan.entity) else { return 0 }
        let total = try transaction.count(database)
        if plan.ranges.count == 1, plan.ranges[0].isAll { return total }
        return min(total, try estimate(database, plan.ranges))
    }

    private func estimate(_ database: LMDBDatabase, _ ranges: [KeyRange]) throws -> Int {
        let cursor = try transaction.cursor(database)
        var count = 0
        for (place, range) in ranges.enumerated() {
            let before = count
            var first: [UInt8] = []
            var reached: [UInt8] = []
            try LMDBRangeWalk(cursor).forEach([range], reverse: false) { record in
                if count == before { first = Array(record.key) }
                count += 1
                guard count < Self.mostCounted else {
                    reached = Array(record.key)
                    return false
                }
                return true
            }
            guard count >= Self.mostCounted else { continue }
            var last = reached
            try LMDBRangeWalk(cursor).forEach([range], reverse: true) { record in
                last = Array(record.key)
                return false
            }
            let inRange = Double(count - before) * max(1, Self.share(first, reached, last))
            // The remaining ranges are assumed to be like those before.
            let all = (Double(before) + inRange) / Double(place + 1) * Double(ranges.count)
            return Int(min(all, Double(Int32.max)))
        }
        return count
    }

    /// The distance from the first of three keys to the last, as a multiple of the distance from the first to the second.
    private static func share(_ first: [UInt8], _ second: [UInt8], _ last: [UInt8]) -> Double {
        let shared = zip(first, last).prefix { $0 == $1 }.count
        func number(_ key: [UInt8]) -> Double {
            key.dropFirst(shared).prefix(8).enumerated()
                .reduce(0) {
                    $0 + Double($1.element) / Double(sign: .plus, exponent: 8 * ($1.offset + 1), significand: 1)
                }
        }
        let (start, middle, end) = (number(first), number(second), number(last))
        return middle > start ? (end - start) / (middle - start) : 1
    }

    // MARK: Identifiers

    /// The identifier at the end of a key.
    @inline(__always)
    func identifier(endOf key: UnsafeRawBufferPointer) throws -> UUID {
        let start = key.count - KeyFormat.identifierLength
        guard start >= 0 else {
            throw LMDBError.error(.corrupt, "a key is too short for an identifier", path: catalog.path)
        }
        return UUID(uuid: key.loadUnaligned(fromByteOffset: start, as: uuid_t.self))
    }

    /// The identifiers at the end of the keys in ranges, in key order, without reading a record.
    package func identifiers(
        _ access: KeyPlan.Access,
        _ ranges: [KeyRange],
        _ entity: Int,
        atMost most: Int
    ) throws -> [UUID] {
        guard most > 0, let database = try database(access, entity) else { return [] }
        var ids: [UUID] = []
        try LMDBRangeWalk(transaction.cursor(database)).forEach(ranges, reverse: false) { record in
            ids.append(try identifier(endOf: record.key))
            return ids.count < most
        }
        return ids
    }

    /// The distinct references or links at the start of an index's keys, ascending; nil if there are too many. Skips the keys
    /// between.
    package func firstIdentifiers(in index: KeyIndex, of entity: Int, atMost most: Int) throws -> [UUID]? {
        let cursor = try transaction.cursor(catalog.database(index))
        let length = 1 + KeyFormat.identifierLength
        var ids: [UUID] = []
        var next: [UInt8]? = [1]
        while let lower = next, let record = try cursor.seek(lower) {
            guard record.key.count >= length else { throw malformedKey(index) }
            guard ids.count < most else { return nil }
            ids.append(UUID(uuid: record.key.loadUnaligned(fromByteOffset: 1, as: uuid_t.self)))
            next = KeyOrder.successor(ofPrefix: Array(record.key.prefix(length)))
        }
        return ids
    }
}
