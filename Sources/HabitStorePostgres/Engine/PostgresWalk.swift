import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// Goes through ranges of keys in pages, which grow as long as somebody goes on.
final class PostgresWalk {
    /// What one row of a page says; valid as long as ``PostgresWalk/page``.
    struct Row {
        let key: UnsafeRawBufferPointer
        let id: UUID
        /// The record; nil where none was asked for, and where the one that an index leads to is not there.
        let body: UnsafeRawBufferPointer?
    }

    /// The rows of the first page.
    static let firstPage = 256
    /// The rows of the largest page.
    static let largestPage = 4_096

    private let snapshot: PostgresSnapshot
    private let source: PostgresStatement.Source
    private let number: Int16
    private let joined: Int16?
    private let reverse: Bool
    /// What is left to be gone through.
    private var ranges: [KeyRange]
    private var pageSize: Int
    private var row = 0
    private var isLast = false
    /// The rows that are being gone through. Who keeps what lies in them keeps it.
    private(set) var page: PostgresResult?

    /// - Parameters:
    ///   - ranges: disjoint and ascending.
    ///   - most: how many rows are wanted at most; nil where nobody can tell.
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

    /// The next row; nil behind the last one.
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

    /// Leaves behind what has been gone through.
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

/// Ranges of keys as statements have them.
enum PostgresBounds {
    /// Behind every key of an index, which begins with 0, 1 or 2.
    private static let behindAll: [UInt8] = [0xFF]

    /// Whether there can be a key in a range.
    static func holdKeys(_ range: KeyRange, _ source: PostgresStatement.Source) -> Bool {
        switch source {
        case .keys, .entries: !range.isEmpty
        case .records, .identifiers:
            !range.isEmpty && range.upper.map { !$0.allSatisfy { $0 == 0 } } ?? true
                && !(range.lower.count > 16 && range.lower.prefix(16).allSatisfy { $0 == 0xFF })
        }
    }

    /// The bounds below and above, each a value or a list of values.
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

    /// The first identifier that does not come before a key.
    private static func first(_ key: [UInt8]) -> UUID {
        // What is longer than an identifier comes behind the one that it begins with.
        if key.count > 16 { return identifier(key.prefix(16)).successor ?? IdentifierRange.all.last }
        return identifier(key[...])
    }

    /// The last identifier that comes before a key.
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
