import HabitStore

/// Counts what a statement looks at beside the rows that it hands out.
struct SQLiteWorkCounter {
    private let statement: SQLiteStatement
    private let visits: SQLiteVisits?
    private let scansOneTable: Bool

    /// Starts counting for a statement that is about to run.
    init(_ plan: SQLitePlan, _ statement: SQLiteStatement) throws {
        self.statement = statement
        scansOneTable = plan.scansOneTable
        visits = plan.countsVisits ? try plan.connection.countingVisits() : nil
        visits?.reset()
        _ = statement.takeScanSteps()
    }

    /// How many records were looked at and not handed out: all of them when the plan counts, else those that a scan of
    /// the whole table passed over, which SQLite counts anyway.
    func passedOver(_ handedOut: Int) -> Int {
        if let visits { return max(0, visits.count - handedOut) }
        guard scansOneTable else { return 0 }
        let steps = statement.takeScanSteps()
        // The first row of a scan is no step.
        return steps > 0 ? max(0, steps + 1 - handedOut) : 0
    }
}
