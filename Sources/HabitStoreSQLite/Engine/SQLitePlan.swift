import Foundation
import HabitStore

/// A query as SQL, and what of it that SQL does.
public struct SQLitePlan: EnginePlan {
    let table: SQLiteTable
    /// The rows.
    let sql: String
    /// Their number, without the window.
    let countSQL: String
    /// A row of `sql` by its identifier, which is the last parameter, if it still fulfils the conditions.
    let recheckSQL: String
    /// What is bound to the parameters of the conditions, from 1.
    let bindings: [Value]
    /// The limit and the offset, as they are bound behind.
    let window: [Int64]
    let offset: Int
    let limit: Int?
    let connection: SQLiteConnection

    /// What is left of the filter.
    public let residual: BoundExpression?
    /// Whether candidates come in the query's total order.
    public let orderIsExact: Bool
    /// Whether offset and limit are already applied.
    public let windowIsApplied: Bool

    /// The access path, as SQLite itself explains it. Only inside of the transaction that made the plan.
    public var accessPath: String {
        do {
            return try SQLiteAccessPath(sql, table, connection).description
        } catch {
            return "scan \(table.description.name) (SQLite did not explain it: \(error))"
        }
    }

    func bind(to statement: SQLiteStatement) throws {
        try bindConditions(to: statement)
        for (index, number) in window.enumerated() {
            try statement.bind(number, at: Int32(bindings.count + index + 1))
        }
    }

    func bindConditions(to statement: SQLiteStatement) throws {
        for (index, value) in bindings.enumerated() { try statement.bind(value, at: Int32(index + 1)) }
    }
}

/// Makes plans.
struct SQLitePlanner {
    /// Far below the limit that connections are opened with.
    private static let longestText = 500_000

    let tables: [SQLiteTable]
    let textIsCanonical: Bool
    let connection: SQLiteConnection

    init(_ tables: [SQLiteTable], textIsCanonical: Bool, _ connection: SQLiteConnection) {
        self.tables = tables
        self.textIsCanonical = textIsCanonical
        self.connection = connection
    }

    func plan(_ query: BoundQuery) -> SQLitePlan {
        let table = tables[query.entity]
        var filter = self.filter(query.filter, table)
        let order = self.order(query.order, table)
        if let condition = filter.condition, condition.utf8.count > Self.longestText {
            filter = (nil, [], false)
        }
        let isWindowed = query.limit != nil || query.offset > 0
        let appliesWindow = isWindowed && filter.isExact && order != nil && !query.hasOpaqueCondition
        let condition = filter.condition.map { " WHERE \($0)" } ?? ""
        var sql = table.selectAll
        // The one order that nearly every query has is a constant.
        if filter.condition != nil || order != Self.byIdentifier {
            sql = table.selection + condition + (order.map { " ORDER BY \($0)" } ?? "")
        }
        var window: [Int64] = []
        if appliesWindow {
            sql += " LIMIT ?\(filter.bindings.count + 1) OFFSET ?\(filter.bindings.count + 2)"
            window = [query.limit.map { Int64(max(0, $0)) } ?? -1, Int64(query.offset)]
        }
        return SQLitePlan(
            table: table,
            sql: sql,
            countSQL: "SELECT COUNT(*) FROM \(table.name) AS t0\(condition)",
            recheckSQL: table.selection
                + " WHERE \(filter.condition.map { "\($0) AND " } ?? "")t0.\"id\" = ?\(filter.bindings.count + 1)",
            bindings: filter.bindings,
            window: window,
            offset: query.offset,
            limit: query.limit,
            connection: connection,
            residual: filter.isExact ? nil : query.filter,
            orderIsExact: order != nil,
            windowIsApplied: appliesWindow
        )
    }

    /// The conditions that SQL can narrow by. Those behind one that can fail are not among them: they would pass over
    /// records whose failure Swift reports.
    private func filter(
        _ filter: BoundExpression,
        _ table: SQLiteTable
    ) -> (condition: String?, bindings: [Value], isExact: Bool) {
        if filter.isAlwaysTrue { return (nil, [], true) }
        var conditions: [String] = []
        var expression = SQLiteExpression(tables, textIsCanonical: textIsCanonical, root: table)
        let narrowing = filter.narrowingConditions
        var isExact = !filter.canFail
        for part in narrowing {
            if let condition = expression.attempt({ $0.condition(part, .narrowing) }) {
                conditions.append(condition.sql)
                isExact = isExact && condition.isExact
            } else {
                isExact = false
            }
        }
        guard !conditions.isEmpty else { return (nil, [], isExact) }
        let text =
            conditions.count <= 16
            ? conditions.joined(separator: " AND ")
            : SQLiteExpression.joined(conditions[...], by: " AND ", empty: "1")
        return (text, expression.bindings, isExact)
    }

    private static let byIdentifier = "t0.\"id\""

    /// The keys, up to the identifier, which decides; nil when SQLite would order one of them in another way.
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
