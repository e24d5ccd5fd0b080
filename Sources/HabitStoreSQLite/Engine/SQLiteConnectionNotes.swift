import HabitStore

/// What an engine keeps with a connection from one transaction to the next.
final class SQLiteConnectionNotes {
    /// What the file's definitions were found to be right by, and the cookie that it had then.
    var judged: (cookie: Int64, definitions: SQLiteDefinitions)?
    /// The plans of queries that were asked before. Made for the first of them.
    private(set) lazy var plans = SQLitePlanCache()
    /// How often rows were counted to make a plan.
    var probes: UInt64 = 0
}

extension SQLiteConnection {
    /// What the engine keeps with the connection.
    var notes: SQLiteConnectionNotes {
        if let notes = companion as? SQLiteConnectionNotes { return notes }
        let notes = SQLiteConnectionNotes()
        companion = notes
        return notes
    }

    /// Lends the statement for a plan's rows, which is not looked for by its text where the plan was kept.
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
