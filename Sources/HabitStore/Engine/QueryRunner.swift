import Foundation

/// How much work a query was.
public struct FetchStatistics: Sendable, Hashable {
    /// Records that the engine handed out.
    public var examined: Int
    /// Records that were returned.
    public var returned: Int

    /// Counts; nothing yet, unless said otherwise.
    public init(examined: Int = 0, returned: Int = 0) {
        self.examined = examined
        self.returned = returned
    }
}

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
        if query.limit.map({ $0 <= 0 }) ?? false { return FetchStatistics() }
        let plan = try snapshot.plan(query)
        return plan.orderIsExact
            ? try stream(query, plan, condition, body)
            : try sort(query, plan, condition, body)
    }

    private func stream(
        _ query: BoundQuery,
        _ plan: Snapshot.Plan,
        _ condition: PreparedFetch.Condition?,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        let residual = plan.filterIsExact ? nil : query.filter
        let cuts = !plan.windowIsApplied && (query.offset > 0 || query.limit != nil)
        guard residual != nil || condition != nil || cuts else {
            // Nothing is left to do here, and nothing stands between the engine and the caller.
            var count = 0
            try snapshot.walk(plan) { row in
                count &+= 1
                return try body(&row)
            }
            return FetchStatistics(examined: count, returned: count)
        }
        return try withoutActuallyEscaping(body) { body in
            let stream = RowStream(
                residual: residual,
                evaluator: FilterEvaluator(SnapshotRecords(snapshot, schema)),
                condition: condition,
                toSkip: cuts ? query.offset : 0,
                left: cuts ? query.limit ?? Int.max : Int.max,
                body: body
            )
            try snapshot.walk(plan, stream.step)
            return stream.statistics
        }
    }

    /// A record that is kept for sorting.
    private struct Kept {
        let keys: [Value]
        let record: EncodedRecord
    }

    /// Keeps the first `offset + limit` records of those seen so far; without a limit, all of them.
    private func sort(
        _ query: BoundQuery,
        _ plan: Snapshot.Plan,
        _ condition: PreparedFetch.Condition?,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        let residual = plan.filterIsExact ? nil : query.filter
        let evaluator = FilterEvaluator(SnapshotRecords(snapshot, schema))
        let wanted = query.limit.map { $0.addingReportingOverflow(query.offset) }.flatMap { $0.overflow ? nil : $0.0 }
        var kept: [Kept] = []
        var statistics = FetchStatistics()
        let isBefore = { (left: Kept, right: Kept) in query.order(left.keys, comparedWith: right.keys) < 0 }
        try snapshot.walk(plan) { row in
            statistics.examined += 1
            if let residual, try !evaluator.matches(residual, row) { return true }
            if let condition, try !condition(&row) { return true }
            let keys = try query.order.map { try row.value(at: $0.position) }
            kept.append(Kept(keys: keys, record: try row.encoded()))
            if let wanted, kept.count / 2 >= wanted, kept.count >= 1_024 {
                kept.sort(by: isBefore)
                kept.removeSubrange(wanted...)
            }
            return true
        }
        kept.sort(by: isBefore)
        let layout = schema.entities[query.entity].layout
        for result in kept.dropFirst(query.offset).prefix(query.limit ?? Int.max) {
            statistics.returned += 1
            let goesOn = try result.record.withView(layout) { view in
                var reader = view.reader
                return try body(&reader)
            }
            guard goesOn else { break }
        }
        return statistics
    }

    /// The number of records of a query, its window applied.
    func count(_ query: BoundQuery, condition: PreparedFetch.Condition?) throws -> Int {
        guard condition == nil else {
            return try run(query, condition: condition) { _ in true }.returned
        }
        var unordered = query
        unordered.order = [.init(position: 0, ascending: true)]
        unordered.offset = 0
        unordered.limit = nil
        let plan = try snapshot.plan(unordered)
        var total = 0
        if plan.filterIsExact {
            total = try snapshot.count(plan)
        } else {
            let evaluator = FilterEvaluator(SnapshotRecords(snapshot, schema))
            try snapshot.walk(plan) { row in
                if try evaluator.matches(query.filter, row) { total += 1 }
                return true
            }
        }
        return min(max(0, total - query.offset), max(0, query.limit ?? Int.max))
    }
}

/// Rows on their way from an engine to the caller, filtered and cut. It is not generic, so that nothing about types is
/// looked up for each row.
private final class RowStream {
    private let residual: BoundExpression?
    private let evaluator: FilterEvaluator
    private let condition: PreparedFetch.Condition?
    private var toSkip: Int
    private var left: Int
    private let body: (inout AttributeReader) throws -> Bool
    private(set) var statistics = FetchStatistics()

    init(
        residual: BoundExpression?,
        evaluator: FilterEvaluator,
        condition: PreparedFetch.Condition?,
        toSkip: Int,
        left: Int,
        body: @escaping (inout AttributeReader) throws -> Bool
    ) {
        self.residual = residual
        self.evaluator = evaluator
        self.condition = condition
        self.toSkip = toSkip
        self.left = left
        self.body = body
    }

    /// Takes one row; false ends the walk.
    func step(_ row: inout AttributeReader) throws -> Bool {
        statistics.examined += 1
        if let residual, try !evaluator.matches(residual, row) { return true }
        if let condition {
            guard try condition(&row) else { return true }
            row.rewind()
        }
        guard toSkip == 0 else {
            toSkip -= 1
            return true
        }
        left -= 1
        statistics.returned += 1
        return try body(&row) && left > 0
    }
}

extension BoundQuery {
    /// Compares the values of two records' keys by the query's order.
    func order(_ left: [Value], comparedWith right: [Value]) -> Int {
        for (index, key) in order.enumerated() {
            let result = left[index].order(comparedWith: right[index])
            if result != 0 { return key.ascending ? result : -result }
        }
        return 0
    }
}

/// Follows relationships inside a snapshot for the evaluator.
struct SnapshotRecords<Snapshot: EngineSnapshot>: RelatedRecords {
    let snapshot: Snapshot
    let schema: Schema

    init(_ snapshot: Snapshot, _ schema: Schema) {
        self.snapshot = snapshot
        self.schema = schema
    }

    func related(entity: Int, id: UUID) throws -> (any RecordAccess)? {
        try snapshot.withRow(entity: entity, id: id) { row in
            OwnedRecord(record: try row.encoded(), layout: schema.entities[entity].layout)
        }
    }

    func identifiers(entity: Int, attribute: Int, referringTo id: UUID) throws -> [UUID] {
        try snapshot.identifiers(entity: entity, attribute: attribute, equalTo: .uuid(id), limit: nil)
    }
}

/// A record that owns its bytes, as the evaluator sees it.
private struct OwnedRecord: RecordAccess {
    let record: EncodedRecord
    let layout: RecordLayout

    func value(at position: Int) throws -> Value { try record.withView(layout) { try $0.value(at: position) } }
}
