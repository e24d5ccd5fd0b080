import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// Walks key ranges in pages, which grow as the walk continues.
final class PostgresWalk {
    /// A row of a page; valid as long as ``PostgresWalk/page``.
    struct Row {
        let key: UnsafeRawBufferPointer
        let id: UUID
        /// The record; nil if it was not requested, or if the record of an index entry is missing.
        let body: UnsafeRawBufferPointer?
    }

    /// The number of rows on the first page.
    static let firstPage = 256
    /// The number of rows on the largest page.
    static let largestPage = 4_096

    private let snapshot: PostgresSnapshot
    private let source: PostgresStatement.Source
    private let number: Int16
    private let joined: Int16?
    private let reverse: Bool
    /// The remaining ranges.
    private var ranges: [KeyRange]
    private var pageSize: Int
    private var row = 0
    private var isLast = false
    /// The current page. Retain it to keep using its rows.
    private(set) var page: PostgresResult?

    /// - Parameters:
    ///   - ranges: disjoint and ascending.
    ///   - most: the maximum number of rows that are needed; nil if unknown.
    init(
        _ snapshot: PostgresSnapshot,
        _ source: PostgresStatement.Source,
        _ entity: Int,
        _ ranges: [KeyRange],
        index: KeyIndex? = nil,
        reverse: Bool,
        most: Int? = nil
    ) throws {
        self.snapshot = snapshot
        self.source = source
        self.ranges = ranges.filter { PostgresBounds.holdKeys($0, source) }
        self.reverse = reverse
        number = try index.map { try snapshot.number($0) } ?? snapshot.number(entity)
        joined = source == .entries ? try snapshot.number(entity) : nil
        pageSize = max(1, min(most ?? Self.firstPage, Self.largestPage))
    }

    /// The next row; nil after the last one.
    func next() throws -> Row? {
        while true {
            if let page, row < page.count {
                defer { row += 1 }
                guard let key = page.bytes(row, 0) else { return nil }
                return Row(key: key, id: try page.uuid(row, 1), body: source.hasBodies ? page.bytes(row, 2) : nil)
            }
            guard try turnPage() else { return nil }
        }
    }

    private func turnPage() throws -> Bool {
        if isLast { return false }
        if let page {
            if let last = page.bytes(page.count - 1, 0) { leave(Array(last)) }
            pageSize = min(max(pageSize, Self.firstPage) * 4, Self.largestPage)
        }
        guard !ranges.isEmpty else { return false }
        let found = try snapshot.ask(call())
        (page, row) = (found, 0)
        isLast = !found.isFull(pageSize, bodies: source.hasBodies ? 2 : nil)
        return found.count > 0
    }

    /// Removes what has been walked from the ranges.
    private func leave(_ key: [UInt8]) {
        if reverse {
            ranges.removeAll { !KeyOrder.isBefore($0.lower, key) }
            if let last = ranges.indices.last { ranges[last].upper = lower(ranges[last].upper, key) }
        } else {
            let next = key + [0]
            ranges.removeAll { $0.upper.map { !KeyOrder.isBefore(next, $0) } ?? false }
            if let first = ranges.first, KeyOrder.isBefore(first.lower, next) { ranges[0].lower = next }
        }
        ranges.removeAll { !PostgresBounds.holdKeys($0, source) }
    }

    private func lower(_ bound: [UInt8]?, _ key: [UInt8]) -> [UInt8] {
        bound.map { KeyOrder.isBefore($0, key) ? $0 : key } ?? key
    }

    private func call() throws -> PostgresCall {
        let isSingle = ranges.count == 1
        let statement: PostgresStatement =
            isSingle ? .walk(source, reverse: reverse) : .walkSeveral(source, reverse: reverse)
        let (low, high) = PostgresBounds.values(ranges, source, isSingle: isSingle)
        var values: [PostgresValue] = [
            .uuid(snapshot.catalog.store), .int2(number), low, high, .int8(Int64(pageSize)),
        ]
        if let joined { values.append(.int2(joined)) }
        return PostgresCall(statement, values)
    }
}

/// The bounds of key ranges as statement parameters.
enum PostgresBounds {
    /// After every key of an index, which begins with 0, 1 or 2.
    private static let behindAll: [UInt8] = [0xFF]

    /// Whether a range can contain keys.
    static func holdKeys(_ range: KeyRange, _ source: PostgresStatement.Source) -> Bool {
        switch source {
        case .keys, .entries: !range.isEmpty
        case .records, .identifiers:
            !range.isEmpty && range.upper.map { !$0.allSatisfy { $0 == 0 } } ?? true
                && !(range.lower.count > 16 && range.lower.prefix(16).allSatisfy { $0 == 0xFF })
        }
    }

    /// The lower and upper bounds, each a value or a list of values.
    static func values(
        _ ranges: [KeyRange],
        _ source: PostgresStatement.Source,
        isSingle: Bool
    ) -> (PostgresValue, PostgresValue) {
        switch source {
        case .keys, .entries:
            let (low, high) = (ranges.map(\.lower), ranges.map { $0.upper ?? behindAll })
            return isSingle ? (.bytes(low[0]), .bytes(high[0])) : (.byteLists(low), .byteLists(high))
        case .records, .identifiers:
            let (low, high) = (ranges.map { first($0.lower) }, ranges.map { last(below: $0.upper) })
            return isSingle ? (.uuid(low[0]), .uuid(high[0])) : (.uuids(low), .uuids(high))
        }
    }

    /// The first identifier at or after a key.
    private static func first(_ key: [UInt8]) -> UUID {
        // A key that is longer than an identifier comes after the identifier that it begins with.
        if key.count > 16 { return identifier(key.prefix(16)).successor ?? IdentifierRange.all.last }
        return identifier(key[...])
    }

    /// The last identifier before a key.
    private static func last(below key: [UInt8]?) -> UUID {
        guard let key else { return IdentifierRange.all.last }
        if key.count > 16 { return identifier(key.prefix(16)) }
        var bytes = Array(key) + [UInt8](repeating: 0, count: 16 - key.count)
        for place in bytes.indices.reversed() {
            if bytes[place] > 0 {
                bytes[place] -= 1
                break
            }
            bytes[place] = 0xFF
        }
        return identifier(bytes[...])
    }

    private static func identifier(_ key: ArraySlice<UInt8>) -> UUID {
        (Array(key) + [UInt8](repeating: 0, count: 16 - key.count)).withUnsafeBytes {
            UUID(uuid: $0.loadUnaligned(as: uuid_t.self))
        }
    }
}
