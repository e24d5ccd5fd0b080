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
