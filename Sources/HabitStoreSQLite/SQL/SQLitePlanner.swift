import Foundation
@_spi(Engines) import HabitStore

/// Plans queries.
struct SQLitePlanner {
    /// Far below the limit of the connections.
    private static let longestText = 500_000
    private static let byIdentifier = "t0.\"id\""

    let tables: [SQLiteTable]
    let textIsCanonical: Bool
    let connection: SQLiteConnection
    /// How selective a semi-join must be; see ``SQLiteProbe/leastShare``.
    var joinShare = SQLiteProbe.leastShare

    init(_ tables: [SQLiteTable], textIsCanonical: Bool, _ connection: SQLiteConnection) {
        self.tables = tables
        self.textIsCanonical = textIsCanonical
        self.connection = connection
    }

    func plan(_ query: BoundQuery) throws -> SQLitePlan {
        guard query.isAnalyzed else {
            guard joinShare == SQLiteProbe.leastShare else { return plan(query, counting: .nothing) }
            return connection.notes.plans.plan(query, self) { self.plan($0, counting: .nothing) }
        }
        _ = try connection.countingVisits()
        let plan = plan(query, counting: .rows)
        guard try !plan.branches.isEmpty && SQLiteAccessPath(plan).isUnion else { return plan }
        // Only a plan that counts each branch sees the rows that a range reaches and another condition excludes.
        let detailed = self.plan(query, counting: .branches)
        return try SQLiteAccessPath(detailed).isUnion ? detailed : plan
    }

    private enum Counting {
        case nothing
        case rows
        case branches
    }

    private func plan(_ query: BoundQuery, counting: Counting) -> SQLitePlan {
        let table = tables[query.entity]
        let filter = self.filter(query.filter, table, counting)
        // If evaluation may fail, the runner visits all candidates before it sorts them.
        var order = query.mayFail ? nil : self.order(query.order, table)
        if let keys = order, let first = query.order.first, !filter.tests.isEmpty {
            let probe = SQLiteProbe(connection: connection, share: joinShare)
            let record = SQLiteExpression.Record(table: table, alias: "t0")
            // No index gives the order of an expression, so the `+` keeps SQLite from using one for it.
            if probe.isSmallRange(record, filter.tests, orderedBy: first.position, filter.bindings) {
                order = "+" + keys
            }
        }
        let appliesWindow =
            !query.window.isWhole && filter.residual == nil && order != nil && !query.hasOpaqueCondition
            && !query.mayFail
        let condition = filter.condition.map { " WHERE \($0)" } ?? ""
        let selection = selection(query, filter.residual, table)
        var sql = table.selectAll
        // Nearly all queries have this order, and its SQL is a constant.
        if filter.condition != nil || order != Self.byIdentifier || selection != nil {
            sql = (selection ?? table.selection) + condition + (order.map { " ORDER BY \($0)" } ?? "")
        }
        if appliesWindow { sql += " LIMIT ?\(filter.bindings.count + 1) OFFSET ?\(filter.bindings.count + 2)" }
        return SQLitePlan(
            table: table,
            sql: sql,
            countSQL: "SELECT COUNT(*) FROM \(table.name) AS t0\(condition)",
            recheckSQL: (selection ?? table.selection)
                + " WHERE \(filter.condition.map { "\($0) AND " } ?? "")t0.\"id\" = ?\(filter.bindings.count + 1)",
            bindings: filter.bindings,
            window: appliesWindow ? query.window : nil,
            tests: filter.tests,
            branches: filter.branches,
            isWhollyTested: filter.isWhollyTested,
            countsVisits: counting != .nothing,
            scansOneTable: !filter.readsElsewhere,
            textIsCanonical: textIsCanonical,
            connection: connection,
            residual: filter.residual,
            orderIsExact: order != nil,
            windowIsApplied: appliesWindow
        )
    }

    // MARK: Conditions

    /// The part of a filter that SQL does, and the part that is left.
    private struct Filter {
        var condition: String?
        var bindings: [Value] = []
        var residual: BoundExpression?
        var tests: [SQLiteColumnTest] = []
        var branches: [[SQLiteColumnTest]] = []
        var isWhollyTested = true
        var readsElsewhere = false
    }

    /// The conditions that SQL can narrow by. It leaves out those that follow one that can fail: they would exclude records whose
    /// failure Swift reports. In that case the whole filter is left to Swift.
    private func filter(_ filter: BoundExpression, _ table: SQLiteTable, _ counting: Counting) -> Filter {
        var expression = SQLiteExpression(
            tables,
            textIsCanonical: textIsCanonical,
            root: table,
            probe: SQLiteProbe(connection: connection, share: joinShare),
            countsVisits: counting != .nothing,
            countsBranches: counting == .branches
        )
        let visit = expression.visit(.row, "t0")
        let visits = counting == .nothing ? nil : visit + "1"
        if filter.isAlwaysTrue { return Filter(condition: visits) }
        let found = expression.conditions(filter.narrowingConditions.flatMap(\.conjuncts), .narrowing)
        let conditions = found.compactMap(\.condition)
        let left = found.flatMap { $0.condition?.isExact ?? false ? [] : $0.parts }
        let residual = filter.canFail ? filter : (left.isEmpty ? nil : left.count == 1 ? left[0] : .and(left))
        guard !conditions.isEmpty else { return Filter(condition: visits, residual: residual) }
        let texts = conditions.map(\.sql)
        let text =
            texts.count <= 16
            ? texts.joined(separator: " AND ")
            : SQLiteExpression.joined(texts[...], by: " AND ", empty: "1")
        guard text.utf8.count <= Self.longestText else { return Filter(condition: visits, residual: filter) }
        return Filter(
            condition: visit + text,
            bindings: expression.bindings,
            residual: residual,
            tests: conditions.flatMap(\.tests),
            branches: conditions.first { !$0.branches.isEmpty }?.branches ?? [],
            isWhollyTested: residual == nil && conditions.allSatisfy { $0.tests.count == 1 && $0.branches.isEmpty },
            readsElsewhere: expression.readsElsewhere
        )
    }

    // MARK: Columns and order

    /// `SELECT` and `FROM` of a query that reads some of the attributes; nil for one that reads all.
    private func selection(_ query: BoundQuery, _ residual: BoundExpression?, _ table: SQLiteTable) -> String? {
        guard let projection = query.projection, !query.hasOpaqueCondition else { return nil }
        var wanted = Set(projection)
        wanted.insert(0)
        residual?.addRootAttributes(to: &wanted)
        return table.selection(of: wanted)
    }

    /// The sort keys up to the identifier, which is unique; nil if SQLite would order one of them differently.
    private func order(_ keys: [BoundQuery.SortKey], _ table: SQLiteTable) -> String? {
        var terms: [String] = []
        for key in keys {
            switch table.description.attributes[key.position].kind {
            case .strings, .links: return nil
            case .string: guard textIsCanonical else { return nil }
            case .bool, .int, .double, .date, .uuid, .data: break
            }
            terms.append("t0.\(table.columns[key.position])\(key.ascending ? "" : " DESC")")
            if key.position == 0 { break }
        }
        return terms.joined(separator: ", ")
    }
}

extension BoundExpression {
    /// Adds the attributes of the fetched record that the expression reads. A nested variable can have the same number, which may
    /// add too many.
    fileprivate func addRootAttributes(to positions: inout Set<Int>) {
        func add(_ path: BoundPath, _ position: Int? = nil) {
            guard path.variable == 0, let position = path.hops.first?.attribute ?? position else { return }
            positions.insert(position)
        }
        switch self {
        case .attribute(let path, let position, _, _): add(path, position)
        case .exists(let path): add(path)
        case .some(let collection, let inner), .every(let collection, let inner), .count(let collection, let inner):
            // Links are read by the identifier and have no column.
            add(collection.path)
            inner.addRootAttributes(to: &positions)
        default: forEachChild { $0.addRootAttributes(to: &positions) }
        }
    }
}
