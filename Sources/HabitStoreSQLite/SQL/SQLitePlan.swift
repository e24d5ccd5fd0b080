import Foundation
@_spi(Engines) import HabitStore

/// A query in SQL, and which parts of it SQL does.
@_spi(Engines) public struct SQLitePlan: EnginePlan {
    let table: SQLiteTable
    /// Selects the rows.
    var sql: String
    /// Counts the rows, without the window.
    var countSQL: String
    /// Selects a row of `sql` by its identifier, the last parameter, if it still meets the conditions.
    var recheckSQL: String
    /// The values of the conditions' parameters, from 1.
    let bindings: [Value]
    /// The window that SQL applies as limit and offset, bound after the conditions; nil if it does not.
    var window: FetchWindow?
    /// The conditions that an index can answer, all of which hold; for a union, those of each part.
    let tests: [SQLiteColumnTest]
    let branches: [[SQLiteColumnTest]]
    /// Whether there are no other conditions.
    let isWhollyTested: Bool
    /// Whether `sql` counts each visited record.
    let countsVisits: Bool
    /// Whether only the fetched entity is scanned.
    let scansOneTable: Bool
    /// Whether the store's texts were known to be equal exactly if their bytes are.
    let textIsCanonical: Bool
    let connection: SQLiteConnection
    /// The connection's cached plan.
    var kept: SQLiteCachedPlan?

    /// The part of the filter that is left to Swift.
    public var residual: BoundExpression?
    /// Whether candidates come in the query's total order.
    public let orderIsExact: Bool
    /// Whether offset and limit are already applied.
    public var windowIsApplied: Bool

    /// The access path as explained by SQLite. Valid only in the transaction that made the plan.
    public var accessPath: String {
        do {
            return try SQLiteAccessPath(self).description
        } catch {
            return "scan \(table.description.name) (SQLite did not explain it: \(error))"
        }
    }

    func bind(to statement: SQLiteStatement) throws {
        try bindConditions(to: statement)
        guard let window else { return }
        try statement.bind(window.limit.map(Int64.init) ?? -1, at: Int32(bindings.count + 1))
        try statement.bind(Int64(window.offset), at: Int32(bindings.count + 2))
    }

    func bindConditions(to statement: SQLiteStatement) throws {
        for (index, value) in bindings.enumerated() { try statement.bind(value, at: Int32(index + 1)) }
    }

    /// The number of rows that the access path reaches; in a part of an order that an index gives, at most as many as the query
    /// asks for.
    func estimatedRows() throws -> Int {
        let path = try SQLiteAccessPath(self)
        let probe = SQLiteProbe(connection: connection)
        let record = SQLiteExpression.Record(table: table, alias: "t0")
        var rows: Int
        if path.isUnion, !branches.isEmpty {
            rows = try branches.reduce(0) { try $0 + probe.estimate(record, $1, bindings) }
            rows = min(rows, try probe.total(table))
        } else {
            let bound = tests.filter { path.columns.contains(table.description.attributes[$0.position].name) }
            rows = try bound.isEmpty ? probe.total(table) : probe.estimate(record, bound, bindings)
            let stops = windowIsApplied && isWhollyTested && bound.count == tests.count && !path.sorts
            if stops, let end = window?.end { rows = min(rows, end) }
        }
        return rows
    }
}

/// A short form of `EXPLAIN QUERY PLAN` for the fetched entity.
struct SQLiteAccessPath {
    let description: String
    /// The columns of the entity that an index search uses.
    let columns: Set<String>
    /// Whether the plan unites several index ranges.
    let isUnion: Bool
    /// Whether SQLite sorts the rows, which means that it reads all of them before it returns the first.
    let sorts: Bool

    init(_ plan: SQLitePlan) throws {
        let statement = try plan.connection.prepare("EXPLAIN QUERY PLAN " + plan.sql)
        var lines: [String] = []
        while try statement.step() { lines.append(try statement.text(at: 3)) }
        isUnion = lines.contains("MULTI-INDEX OR")
        sorts = lines.contains { $0.hasPrefix("USE TEMP B-TREE FOR ORDER BY") }
        let steps = lines.compactMap { Step($0, of: "t0") }
        columns = steps.reduce(into: []) { $0.formUnion($1.columns) }
        let tests = plan.tests + plan.branches.flatMap(\.self)
        var paths: [String] = []
        for step in steps {
            let path = try step.path(plan.table, tests, lines, plan.connection)
            if !paths.contains(path) { paths.append(path) }
        }
        description = paths.isEmpty ? "scan \(plan.table.description.name)" : paths.joined(separator: " or ")
    }

    /// A line of the plan that is about a table.
    private struct Step {
        let isScan: Bool
        let index: String?
        let columns: Set<String>

        init?(_ line: String, of alias: String) {
            isScan = line == "SCAN \(alias)" || line.hasPrefix("SCAN \(alias) ")
            guard isScan || line.hasPrefix("SEARCH \(alias) ") else { return nil }
            // The name follows `USING INDEX` or `USING COVERING INDEX`. It may contain anything, and ends before ` (`.
            let rest = line.range(of: " INDEX ").map { line[$0.upperBound...] }
            index = rest.map { rest in String(rest.range(of: " (").map { rest[..<$0.lowerBound] } ?? rest) }
            // `(habitID=? AND date>?)`
            let terms = line.range(of: " (", options: .backwards).map { line[$0.upperBound...].dropLast() } ?? ""
            columns = Set(
                terms.components(separatedBy: " AND ").compactMap { term in
                    term.hasSuffix("?") ? String(term.dropLast(2)) : nil
                }
            )
        }

        /// A description of the step. If the search goes by a list of values, it includes the index that found the list.
        func path(
            _ table: SQLiteTable,
            _ tests: [SQLiteColumnTest],
            _ lines: [String],
            _ connection: SQLiteConnection
        ) throws -> String {
            let name = table.description.name
            let title = try index.map { index in
                let title = "index \(table.indexes[index] ?? index)"
                return try holdsCopies(index, table, connection) ? "clustering \(title)" : title
            }
            guard !isScan else { return title.map { "scan \(name) by \($0)" } ?? "scan \(name)" }
            var path = title ?? "primary key \(name)"
            for test in tests where columns.contains(table.description.attributes[test.position].name) {
                guard let source = test.source else { continue }
                guard let step = lines.lazy.compactMap({ Step($0, of: source.alias) }).first else { continue }
                let sourceTests = test.sourceTests.filter { $0.alias == source.alias }
                path += try " by " + step.path(source.table, sourceTests, lines, connection)
            }
            return path
        }

        /// Whether the index in the file has all columns. In a store of an earlier schema it may not.
        private func holdsCopies(_ index: String, _ table: SQLiteTable, _ connection: SQLiteConnection) throws -> Bool {
            guard let declared = table.columnIndexes.first(where: { $0.name == index }), declared.isClustering else {
                return false
            }
            return try SQLiteIndexUpkeep.columns(of: index, connection) == declared.columns
        }
    }
}

/// The part of a plan that depends only on the shape of its query, and the constant that each parameter is bound to.
///
/// Belongs to its connection.
final class SQLiteCachedPlan {
    private let query: CachedQuery
    private let textIsCanonical: Bool
    private let table: SQLiteTable
    /// The plan without the connection, which owns this object; nil if the plan must be made each time.
    private let text: Text?
    private let places: [CachedQuery.Place]
    /// The statement for the rows, after its first use.
    var statement: SQLiteStatement?

    private struct Text {
        let sql: String
        let countSQL: String
        let recheckSQL: String
        let tests: [SQLiteColumnTest]
        let isWhollyTested: Bool
        let scansOneTable: Bool
        let orderIsExact: Bool
        let windowIsApplied: Bool
    }

    /// - Parameters:
    ///   - plan: the plan of a query with this shape.
    ///   - marked: the plan of the same query with constants that mark their places; nil if one of the two plans depended on a
    ///     count of rows, which may grow.
    init(_ query: BoundQuery, _ shape: PredicateShape, _ values: [Value], _ plan: SQLitePlan, marked: SQLitePlan?) {
        let kept = CachedQuery(query, shape)
        (self.query, table, textIsCanonical) = (kept, plan.table, plan.textIsCanonical)
        let places = marked?.bindings.map(kept.place)
        self.places = places ?? []
        guard let marked, let places, marked.saysTheSame(as: plan),
            places.map({ $0.value(values) }) == plan.bindings
        else {
            text = nil
            return
        }
        text = Text(
            sql: plan.sql,
            countSQL: plan.countSQL,
            recheckSQL: plan.recheckSQL,
            tests: plan.tests,
            isWhollyTested: plan.isWhollyTested,
            scansOneTable: plan.scansOneTable,
            orderIsExact: plan.orderIsExact,
            windowIsApplied: plan.windowIsApplied
        )
    }

    /// Whether another query of the shape differs only in its constants and in the ends of its window.
    func isFor(_ other: BoundQuery, _ planner: SQLitePlanner) -> Bool {
        query.covers(other) && textIsCanonical == planner.textIsCanonical && table === planner.tables[other.entity]
    }

    /// The plan of such a query; nil if it must be made.
    func plan(_ query: BoundQuery, _ values: [Value], _ planner: SQLitePlanner) -> SQLitePlan? {
        guard let text else { return nil }
        return SQLitePlan(
            table: table,
            sql: text.sql,
            countSQL: text.countSQL,
            recheckSQL: text.recheckSQL,
            bindings: places.map { $0.value(values) },
            window: text.windowIsApplied ? query.window : nil,
            tests: text.tests,
            branches: [],
            isWhollyTested: text.isWhollyTested,
            countsVisits: false,
            scansOneTable: text.scansOneTable,
            textIsCanonical: textIsCanonical,
            connection: planner.connection,
            kept: self,
            residual: nil,
            orderIsExact: text.orderIsExact,
            windowIsApplied: text.windowIsApplied
        )
    }
}

extension SQLitePlan {
    /// Whether two plans differ at most in their bindings, and neither leaves anything to Swift.
    fileprivate func saysTheSame(as other: SQLitePlan) -> Bool {
        sql == other.sql && countSQL == other.countSQL && recheckSQL == other.recheckSQL
            && residual == nil && other.residual == nil && branches.isEmpty && other.branches.isEmpty
            && isWhollyTested == other.isWhollyTested && scansOneTable == other.scansOneTable
            && orderIsExact == other.orderIsExact && windowIsApplied == other.windowIsApplied
            && tests.map(\.sql) == other.tests.map(\.sql)
    }
}

/// The cached plans of one connection, by the shapes of their filters.
///
/// A plan is cached if SQL does its whole filter, no rows had to be counted for it, and every constant is bound without having
/// influenced the plan. To check the latter, the plan is made again with constants that mark their places; its text must be the
/// same.
final class SQLitePlanCache {
    /// With more plans than this the cache is emptied: a caller with so many queries repeats few of them often.
    private static let mostPlans = 64

    private var plans: [ObjectIdentifier: [SQLiteCachedPlan]] = [:]
    private var count = 0

    /// The plan of a query: a cached one with the query's constants, or one from `make`.
    func plan(_ query: BoundQuery, _ planner: SQLitePlanner, _ make: (BoundQuery) -> SQLitePlan) -> SQLitePlan {
        guard let (shape, values) = query.shape, shape.comparesDirectly else { return make(query) }
        let known = plans[ObjectIdentifier(shape)]
        if let kept = known?.first(where: { $0.isFor(query, planner) }) {
            return kept.plan(query, values, planner) ?? make(query)
        }
        let probes = planner.connection.notes.probes
        var plan = make(query)
        var marked: SQLitePlan?
        if planner.connection.notes.probes == probes {
            var other = query
            other.filter = shape.markedFilter
            marked = make(other)
        }
        let kept = SQLiteCachedPlan(
            query,
            shape,
            values,
            plan,
            marked: planner.connection.notes.probes == probes ? marked : nil
        )
        keep(kept, ObjectIdentifier(shape))
        plan.kept = kept
        return plan
    }

    private func keep(_ plan: SQLiteCachedPlan, _ shape: ObjectIdentifier) {
        if count >= Self.mostPlans { removeAll() }
        plans[shape, default: []].append(plan)
        count += 1
    }

    /// Removes all plans and releases their statements.
    func removeAll() {
        plans.removeAll()
        count = 0
    }
}
