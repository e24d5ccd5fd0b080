@_spi(Engines) import HabitStore

/// The part of a plan that depends only on the shape of its query, and the constant that each parameter is bound to.
///
/// Belongs to its connection.
final class SQLiteKeptPlan {
    private let query: KeptQuery
    private let textIsCanonical: Bool
    private let table: SQLiteTable
    /// The plan without the connection, which owns this object; nil if the plan must be made each time.
    private let text: Text?
    private let places: [KeptQuery.Place]
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
        let kept = KeptQuery(query, shape)
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
