/// How much of a source became records, in the witness's judgement. Rows that say that nothing was done are not counted.
struct RecordBalance {
    private struct Side {
        var records = 0
        var aside = 0
    }

    private var all = Side()
    private var habits: [String: Side] = [:]

    /// Counts rows that became records.
    ///
    /// - Parameter habit: whose they are, where it is a habit that the source has.
    mutating func add(records count: Int, of habit: String?) {
        all.records += count
        if let habit { habits[habit, default: Side()].records += count }
    }

    /// Counts the rows with content that are kept outside of the store.
    mutating func add(aside count: Int, of habit: String?) {
        all.aside += count
        if let habit { habits[habit, default: Side()].aside += count }
    }

    /// The parts that are mostly set aside, without user values.
    var findings: [String] {
        if all.aside > all.records {
            return ["\(all.aside) of \(all.aside + all.records) rows that say something became no record"]
        }
        let mostlyAside = habits.values.filter { $0.aside > $0.records }
        guard !mostlyAside.isEmpty else { return [] }
        let (aside, total) = mostlyAside.reduce((0, 0)) { ($0.0 + $1.aside, $0.1 + $1.aside + $1.records) }
        let words = mostlyAside.count == 1 ? "a habit" : "\(mostlyAside.count) habits"
        return ["\(aside) of \(total) rows of \(words) say something and became no record"]
    }
}
