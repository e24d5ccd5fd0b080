import HabitStore

/// State that an engine keeps with a connection between transactions.
final class SQLiteConnectionNotes {
    /// The definitions that the file was last found to match, and the schema cookie at that time.
    var judged: (cookie: Int64, definitions: SQLiteDefinitions)?
    /// The plans of earlier queries, created with the first of them.
    private(set) lazy var plans = SQLitePlanCache()
    /// How often rows were counted in order to choose a plan.
    var probes: UInt64 = 0
}

extension SQLiteConnection {
    /// The engine's state for this connection.
    var notes: SQLiteConnectionNotes {
        if let notes = companion as? SQLiteConnectionNotes { return notes }
        let notes = SQLiteConnectionNotes()
        companion = notes
        return notes
    }

    /// Lends the statement of a plan. A cached plan keeps its statement, which saves the lookup by SQL text.
    func withStatement<T>(of plan: SQLitePlan, _ body: (SQLiteStatement) throws -> T) throws -> T {
        guard let kept = plan.kept else { return try withStatement(plan.sql, body) }
        try checkOpen()
        if let statement = kept.statement, cache.borrow(statement) {
            defer { giveBack(statement) }
            return try body(statement)
        }
        let statement = try borrowStatement(plan.sql)
        if statement.isKept { kept.statement = statement }
        defer { giveBack(statement) }
        return try body(statement)
    }
}
