/// How much of a source became records, according to the witness. Rows saying that nothing was done do not count.
struct RecordBalance {
    private struct Side {
        var records = 0
        var aside = 0
    }

    private var all = Side()
    private var habits: [String: Side] = [:]

    /// Counts rows that became records.
    ///
    /// - Parameter habit: the habit of the rows, if it is one of the source.
    mutating func add(records count: Int, of habit: String?) {
        all.records += count
        if let habit { habits[habit, default: Side()].records += count }
    }

    /// Counts rows with content that are kept next to the store.
    mutating func add(aside count: Int, of habit: String?) {
        all.aside += count
        if let habit { habits[habit, default: Side()].aside += count }
    }

    /// The parts that were mostly set aside, without user data.
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
