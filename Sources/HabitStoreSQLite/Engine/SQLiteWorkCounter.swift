import HabitStore

/// Counts the records that a statement visits in addition to the rows that it returns.
struct SQLiteWorkCounter {
    private let statement: SQLiteStatement
    private let visits: SQLiteVisits?
    private let scansOneTable: Bool

    /// Starts counting; call it just before the statement runs.
    init(_ plan: SQLitePlan, _ statement: SQLiteStatement) throws {
        self.statement = statement
        scansOneTable = plan.scansOneTable
        visits = plan.countsVisits ? try plan.connection.countingVisits() : nil
        visits?.reset()
        _ = statement.takeScanSteps()
    }

    /// The number of records that were visited but not returned: all of them if the plan counts visits, otherwise those that a scan
    /// of the whole table skipped, which SQLite counts anyway.
    func passedOver(_ handedOut: Int) -> Int {
        if let visits { return max(0, visits.count - handedOut) }
        guard scansOneTable else { return 0 }
        let steps = statement.takeScanSteps()
        // The first row of a scan does not count as a step.
        return steps > 0 ? max(0, steps + 1 - handedOut) : 0
    }
}
