import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

@_spi(Engines) extension PostgresSnapshot {
    /// How the engine would execute a query.
    public func plan(_ query: BoundQuery) throws -> KeyPlan { try planned(query) }

    /// Passes every candidate of a plan to `body` until it returns false. A row is valid during the call.
    @discardableResult
    public func walk(_ plan: KeyPlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        var window = KeyWindow(plan.window)
        switch plan.access {
        case .nothing: break
        case .records: try walkRecords(plan, &window, body)
        case .index(let place): try walkIndex(plan, catalog.keys.tables[plan.entity].indexes[place], &window, body)
        }
        return plan.examined + window.passedOver
    }

    private func walkRecords(
        _ plan: KeyPlan,
        _ window: inout KeyWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        let layout = catalog.keys.tables[plan.entity].layout
        let source: PostgresStatement.Source = plan.lendsIdentifiersOnly ? .identifiers : .records
        let walk = try walk(plan, source)
        let lent = IdentifierRow()
        while let found = try walk.next() {
            if window.passesOver() { continue }
            guard try hand(found, plan, layout, lent, body), window.goesOn() else { return }
        }
    }

    private func walkIndex(
        _ plan: KeyPlan,
        _ index: KeyIndex,
        _ window: inout KeyWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        let layout = catalog.keys.tables[plan.entity].layout
        let isOfKeys = plan.lendsIdentifiersOnly || plan.lendsKeysOnly
        let walk = try walk(plan, isOfKeys ? .keys : .entries, index)
        if let repair = plan.repair { return try walkRepaired(plan, repair, index, walk, &window, body) }
        let lent = IdentifierRow()
        guard plan.lendsKeysOnly, !plan.lendsIdentifiersOnly else {
            while let found = try walk.next() {
                if window.passesOver() { continue }
                guard try hand(found, plan, layout, lent, body), window.goesOn() else { return }
            }
            return
        }
        let row = KeyRow(index.layout)
        try AttributeReader.withReader(of: row, layout: layout) { reader in
            while let found = try walk.next() {
                if window.passesOver() { continue }
                row.key = found.key
                reader.rewind()
                guard try body(&reader), window.goesOn() else { return }
            }
        }
    }

    private func hand(
        _ found: PostgresWalk.Row,
        _ plan: KeyPlan,
        _ layout: RecordLayout,
        _ lent: IdentifierRow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> Bool {
        guard plan.lendsIdentifiersOnly else {
            var row = try view(plan.entity, found.id, found.body).reader
            return try body(&row)
        }
        lent.id = found.id
        return try AttributeReader.withReader(of: lent, layout: layout, body)
    }

    /// A walk whose keys are in the query's order except for runs of equal, or equally truncated, keys.
    private func walkRepaired(
        _ plan: KeyPlan,
        _ repair: KeyPlan.OrderRepair,
        _ index: KeyIndex,
        _ walk: PostgresWalk,
        _ window: inout KeyWindow,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws {
        let layout = catalog.keys.tables[plan.entity].layout
        let lent = IdentifierRow()
        var run = KeyRun(plan, repair)
        // The pages that contain the run's members.
        var pages: [PostgresResult] = []
        var goesOn = true
        func record(_ member: KeyRun.Member) throws -> RecordView {
            try view(plan.entity, member.id, member.copy.isEmpty ? nil : member.copy)
        }
        func finish() throws {
            let members = try run.ordered { member, read in
                guard !plan.lendsIdentifiersOnly else {
                    // Only truncated texts are sorted by their records, which the walk did not fetch.
                    _ = try withRow(entity: plan.entity, id: member.id, read)
                    return
                }
                var row = try record(member).reader
                try read(&row)
            }
            for member in members where goesOn {
                if window.passesOver() { continue }
                if plan.lendsIdentifiersOnly {
                    lent.id = member.id
                    goesOn = try AttributeReader.withReader(of: lent, layout: layout, body)
                } else {
                    var row = try record(member).reader
                    goesOn = try body(&row)
                }
                goesOn = window.goesOn() && goesOn
            }
        }
        while let found = try walk.next() {
            let copy = found.body ?? UnsafeRawBufferPointer(start: nil, count: 0)
            let member = KeyRun.Member(id: found.id, copy: copy)
            let beginning = try run.beginning(of: found.key, index.layout)
            let isTaken = run.takes(member, at: beginning)
            if !isTaken {
                try finish()
                guard goesOn else { return }
                run.begin(member, at: beginning)
                pages.removeAll()
            }
            if let page = walk.page, pages.last !== page { pages.append(page) }
        }
        if goesOn { try finish() }
        withExtendedLifetime(pages) {}
    }

    private func walk(
        _ plan: KeyPlan,
        _ source: PostgresStatement.Source,
        _ index: KeyIndex? = nil
    ) throws -> PostgresWalk {
        // At most one page is requested at a time, and the key after a run shows that it has ended.
        let page = PostgresWalk.largestPage
        let most = plan.window.limit.map { min($0, page) + min(plan.window.offset, page) + 1 }
        return try PostgresWalk(
            self,
            source,
            plan.entity,
            plan.ranges,
            index: index,
            reverse: plan.isReverse,
            most: most
        )
    }

    // MARK: Numbers

    /// The number of records of a plan whose filter is exact. Ignores the plan's window.
    public func count(_ plan: KeyPlan) throws -> Int {
        try count(plan.access, plan.ranges, plan.entity, atMost: Int.max)
    }

    /// Always nil: the server would have to count.
    public func estimatedRows(_ plan: KeyPlan) throws -> Int? { nil }

    private func count(
        _ access: KeyPlan.Access,
        _ ranges: [KeyRange],
        _ entity: Int,
        atMost most: Int
    ) throws -> Int {
        guard let (source, number) = try source(access, entity) else { return 0 }
        let ranges = ranges.filter { PostgresBounds.holdKeys($0, source) }
        guard !ranges.isEmpty else { return 0 }
        let (low, high) = PostgresBounds.values(ranges, source, isSingle: false)
        let answer = try ask(
            PostgresCall(.count(source), .uuid(catalog.store), .int2(number), low, high, .int8(Int64(most)))
        )
        return Int(try answer.number(0, 0, as: Int64.self))
    }

    /// The source of an access path's keys; nil if it has none.
    private func source(
        _ access: KeyPlan.Access,
        _ entity: Int
    ) throws -> (PostgresStatement.Source, Int16)? {
        switch access {
        case .nothing: nil
        case .records: (.identifiers, try number(entity))
        case .index(let place): (.keys, try number(catalog.keys.tables[entity].indexes[place]))
        }
    }
}

/// Information that keys provide without their records.
extension PostgresSnapshot {
    package func countKeys(
        _ access: KeyPlan.Access,
        _ ranges: [KeyRange],
        _ entity: Int,
        upTo most: Int
    ) throws -> Int {
        keyCounts += 1
        return try count(access, ranges, entity, atMost: most)
    }

    package func identifiers(
        _ access: KeyPlan.Access,
        _ ranges: [KeyRange],
        _ entity: Int,
        atMost most: Int
    ) throws -> [UUID] {
        guard most > 0, let (source, _) = try source(access, entity) else { return [] }
        var index: KeyIndex?
        if case .index(let place) = access { index = catalog.keys.tables[entity].indexes[place] }
        let walk = try PostgresWalk(self, source, entity, ranges, index: index, reverse: false, most: most)
        var ids: [UUID] = []
        while ids.count < most, let row = try walk.next() { ids.append(row.id) }
        return ids
    }

    package func firstIdentifiers(in index: KeyIndex, of entity: Int, atMost most: Int) throws -> [UUID]? {
        let answer = try ask(
            PostgresCall(
                .firstIdentifiers,
                .uuid(catalog.store),
                .int2(try number(index)),
                .bytes([1]),
                .bytes([2]),
                .int8(Int64(most) + 1)
            )
        )
        guard answer.count <= most else { return nil }
        return try (0..<answer.count).map { try answer.uuid($0, 0) }
    }
}

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
