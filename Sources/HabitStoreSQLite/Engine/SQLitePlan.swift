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
    var kept: SQLiteKeptPlan?

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
