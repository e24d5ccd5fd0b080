import Foundation

/// Runs queries over an engine's snapshot: what the engine left undone is finished here, the same way for all.
struct QueryRunner<Snapshot: EngineSnapshot> {
    let snapshot: Snapshot
    let schema: Schema

    init(_ snapshot: Snapshot, _ schema: Schema) {
        self.snapshot = snapshot
        self.schema = schema
    }

    /// Hands each result to `body`, in the query's order, until it returns false.
    ///
    /// - Parameter condition: a condition that the engine does not know.
    @discardableResult
    func run(
        _ query: BoundQuery,
        condition: PreparedFetch.Condition? = nil,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        if query.window.isEmpty { return FetchStatistics() }
        let plan = try snapshot.plan(query)
        if plan.orderIsExact, !query.mayFail { return try stream(query, plan, condition, body) }
        guard query.projection != nil else { return try sort(query, plan, condition, body) }
        // Records are kept whole until they are in order.
        var whole = query
        whole.projection = nil
        return try sort(whole, try snapshot.plan(whole), condition, body)
    }

    private func stream(
        _ query: BoundQuery,
        _ plan: Snapshot.Plan,
        _ condition: PreparedFetch.Condition?,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        let cuts = !plan.windowIsApplied && !query.window.isWhole
        guard plan.residual != nil || condition != nil || cuts else {
            // Nothing is left to do here, and nothing stands between the engine and the caller.
            var count = 0
            let passed = try snapshot.walk(plan) { row in
                count &+= 1
                return try body(&row)
            }
            return FetchStatistics(examined: count + passed, returned: count)
        }
        let records = SnapshotRecords(snapshot)
        let filter = filter(query, plan.residual, condition, records)
        if !cuts, let loop = filter.loop {
            var (examined, returned) = (0, 0)
            let passed = try withExtendedLifetime(filter) {
                try snapshot.walk(plan) { row in
                    examined &+= 1
                    guard try loop.matches(&row) else { return true }
                    returned &+= 1
                    return try body(&row)
                }
            }
            return FetchStatistics(examined: examined + passed, followed: records.followed, returned: returned)
        }
        return try withoutActuallyEscaping(body) { body in
            let stream = RowStream(filter: filter, window: cuts ? query.window : FetchWindow(), body: body)
            stream.statistics.examined += try snapshot.walk(plan, stream.step)
            stream.statistics.followed = records.followed
            return stream.statistics
        }
    }

    /// Looks at all candidates before it returns any: they come in another order, or evaluating one may fail.
    private func sort(
        _ query: BoundQuery,
        _ plan: Snapshot.Plan,
        _ condition: PreparedFetch.Condition?,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        let records = SnapshotRecords(snapshot)
        let filter = filter(query, plan.residual, condition, records)
        var top = TopRecords(order: query.order, wanted: query.window.end)
        var statistics = FetchStatistics()
        let passed = try snapshot.walk(plan) { row in
            statistics.examined += 1
            if try filter.passes(&row) { try top.offer(row) }
            return true
        }
        try filter.rethrow()
        statistics.examined += passed
        statistics.followed = records.followed
        let layout = schema.entities[query.entity].layout
        for record in top.sorted().dropFirst(query.offset) {
            statistics.returned += 1
            let goesOn = try record.withView(layout) { view in
                var reader = view.reader
                return try body(&reader)
            }
            guard goesOn else { break }
        }
        return statistics
    }

    /// The number of records of a query, its window applied.
    func count(_ query: BoundQuery, condition: PreparedFetch.Condition?) throws -> (Int, FetchStatistics) {
        if query.window.isEmpty { return (0, FetchStatistics()) }
        var unordered = query
        unordered.order = [.init(position: 0, ascending: true)]
        unordered.isUnordered = true
        unordered.window = FetchWindow()
        let plan = try snapshot.plan(unordered)
        var total = 0
        var statistics = FetchStatistics()
        if plan.residual == nil, condition == nil {
            total = try snapshot.count(plan)
        } else {
            let records = SnapshotRecords(snapshot)
            let filter = filter(query, plan.residual, condition, records)
            var examined = 0
            if let loop = filter.loop {
                let passed = try withExtendedLifetime(filter) {
                    try snapshot.walk(plan) { row in
                        examined &+= 1
                        if try loop.matches(&row) { total &+= 1 }
                        return true
                    }
                }
                examined += passed
            } else {
                let passed = try snapshot.walk(plan) { row in
                    examined &+= 1
                    if try filter.passes(&row) { total &+= 1 }
                    return true
                }
                examined += passed
                try filter.rethrow()
            }
            statistics.examined = examined
            statistics.followed = records.followed
        }
        return (query.window.count(of: total), statistics)
    }

    /// What decides of rows whether they are results of a query.
    ///
    /// - Parameter residual: the part of the query's filter that is left to decide; nil for none.
    func filter(
        _ query: BoundQuery,
        _ residual: BoundExpression?,
        _ condition: PreparedFetch.Condition?,
        _ records: SnapshotRecords<Snapshot>? = nil
    ) -> CandidateFilter {
        let records = records ?? SnapshotRecords(snapshot)
        return CandidateFilter(
            residual: residual.map { residual in
                Snapshot.interpretsFilters
                    ? .interpreted(residual, FilterEvaluator(records))
                    : .compiled(
                        CompiledFilter(
                            residual,
                            entity: query.entity,
                            schema: schema,
                            records: records,
                            recordsMayChange: snapshot is any EngineWriter
                        )
                    )
            },
            condition: condition,
            entity: schema.entities[query.entity].name,
            collectsFailures: query.mayFail
        )
    }
}

/// Rows on their way from an engine to the caller, filtered and cut. It is not generic, so that nothing about types is
/// looked up for each row.
private final class RowStream {
    private let filter: CandidateFilter
    private var toSkip: Int
    private var left: Int
    private let body: (inout AttributeReader) throws -> Bool
    var statistics = FetchStatistics()

    init(filter: CandidateFilter, window: FetchWindow, body: @escaping (inout AttributeReader) throws -> Bool) {
        self.filter = filter
        (toSkip, left) = (window.offset, window.limit ?? Int.max)
        self.body = body
    }

    /// Takes one row; false ends the walk.
    func step(_ row: inout AttributeReader) throws -> Bool {
        statistics.examined += 1
        guard try filter.passes(&row) else { return true }
        guard toSkip == 0 else {
            toSkip -= 1
            return true
        }
        left -= 1
        statistics.returned += 1
        return try body(&row) && left > 0
    }
}

/// Follows relationships inside a snapshot for filters.
final class SnapshotRecords<Snapshot: EngineSnapshot>: RelatedRecords {
    private let snapshot: Snapshot
    /// How many records were followed to. A record that was kept from an earlier row is not read, and not counted, again.
    private(set) var followed = 0

    init(_ snapshot: Snapshot) { self.snapshot = snapshot }

    func withRelated(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        followed += 1
        return try snapshot.withRow(entity: entity, id: id, body) != nil
    }

    func identifiers(entity: Int, attribute: Int, referringTo id: UUID, limit: Int?) throws -> [UUID] {
        try snapshot.identifiers(entity: entity, attribute: attribute, equalTo: .uuid(id), limit: limit)
    }
}

/// The first records of an order among those offered one by one: all of them, or as many as are wanted, in which case no
/// more than twice as many are ever kept.
struct TopRecords {
    private struct Kept {
        let keys: [Value]
        let record: EncodedRecord
    }

    /// Fewer than this are not worth sorting in between.
    private static let leastCapacity = 512

    private let order: [BoundQuery.SortKey]
    private let wanted: Int?
    private var kept: [Kept] = []
    /// The sort keys of the last record within the limit; records after it are dropped.
    private var bound: [Value]?

    /// - Parameter wanted: how many, from the first; nil for all.
    init(order: [BoundQuery.SortKey], wanted: Int?) {
        self.order = order
        self.wanted = wanted
    }

    mutating func offer(_ row: borrowing AttributeReader) throws {
        if let bound, try !isBefore(row, bound) { return }
        kept.append(Kept(keys: try order.map { try row.value(at: $0.position) }, record: try row.encoded()))
        if let wanted, kept.count >= Self.leastCapacity, kept.count / 2 >= wanted { cut(to: wanted) }
    }

    /// The records that were kept, from the first.
    mutating func sorted() -> [EncodedRecord] {
        sort()
        return kept.prefix(wanted ?? Int.max).map(\.record)
    }

    private mutating func cut(to wanted: Int) {
        sort()
        kept.removeSubrange(wanted...)
        bound = kept.last?.keys
    }

    private mutating func sort() {
        let order = order
        kept.sort { left, right in
            for (place, key) in order.enumerated() {
                let result = left.keys[place].order(comparedWith: right.keys[place])
                if result != 0 { return (result < 0) == key.ascending }
            }
            return false
        }
    }

    /// Reads no more keys than it takes to tell.
    private func isBefore(_ row: borrowing AttributeReader, _ bound: [Value]) throws -> Bool {
        for (place, key) in order.enumerated() {
            let result = try row.value(at: key.position).order(comparedWith: bound[place])
            if result != 0 { return (result < 0) == key.ascending }
        }
        return false
    }
}

extension UniqueCombination {
    /// Another record that has these values.
    func record(with values: [Value], besides id: UUID, _ snapshot: some EngineSnapshot, _ schema: Schema) throws
        -> UUID?
    {
        let attributes = schema.entities[entity].attributes
        let terms = zip(positions, values).map { position, value in
            BoundExpression.compare(.equal, .rootAttribute(position, attributes[position]), .literal(value))
        }
        var other: UUID?
        let query = BoundQuery(entity: entity, filter: .and(terms), limit: 2, projection: [0])
        try QueryRunner(snapshot, schema).run(query) { row in
            let found = try row.identifier()
            if found != id { other = found }
            return other == nil
        }
        return other
    }
}
