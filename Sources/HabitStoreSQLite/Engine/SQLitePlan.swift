import Foundation
@_spi(Engines) import HabitStore

/// A query as SQL, and what of it that SQL does.
@_spi(Engines) public struct SQLitePlan: EnginePlan {
    let table: SQLiteTable
    /// The rows.
    var sql: String
    /// Their number, without the window.
    var countSQL: String
    /// A row of `sql` by its identifier, which is the last parameter, if it still fulfils the conditions.
    var recheckSQL: String
    /// What is bound to the parameters of the conditions, from 1.
    let bindings: [Value]
    /// What SQL cuts, as limit and offset that are bound behind; nil where it does not.
    var window: FetchWindow?
    /// The conditions that an index can answer, all of which hold; where there is a union, those of each part.
    let tests: [SQLiteColumnTest]
    let branches: [[SQLiteColumnTest]]
    /// Whether there are no other conditions than those.
    let isWhollyTested: Bool
    /// Whether `sql` counts each record that it looks at.
    let countsVisits: Bool
    /// Whether scans are of the entity asked for, and of nothing else.
    let scansOneTable: Bool
    /// Whether the bytes of the store's texts were known to say which are equal.
    let textIsCanonical: Bool
    let connection: SQLiteConnection
    /// Where the connection keeps it.
    var kept: SQLiteKeptPlan?

    /// What is left of the filter.
    public var residual: BoundExpression?
    /// Whether candidates come in the query's total order.
    public let orderIsExact: Bool
    /// Whether offset and limit are already applied.
    public var windowIsApplied: Bool

    /// The access path, as SQLite itself explains it. Only inside of the transaction that made the plan.
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

    /// The rows that the access path leads to; within a part of an order that an index gives, no more than are wanted.
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
