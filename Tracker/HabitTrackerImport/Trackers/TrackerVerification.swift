import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker

/// Compares a store with its source, using none of the import's code: the source is counted and summed by SQL, by Foundation's JSON parser,
/// or line by line, and the store is read back record by record.
struct TrackerVerification {
    private let finding: TrackerRecognition.Finding
    private let path: String
    private let plan: TrackerPlan

    private static let mostDifferences = 10

    init(_ finding: TrackerRecognition.Finding, _ path: String, _ plan: TrackerPlan) {
        self.finding = finding
        self.path = path
        self.plan = plan
    }

    func compare(
        with store: any HabitStore,
        _ timeZone: TimeZone,
        _ report: TrackerReport
    ) throws -> TrackerReport.Verification {
        let expected = try expected().sorted { $0.order.lexicographicallyPrecedes($1.order) }
        let found = try store.read { try self.found($0, timeZone) }.sorted {
            $0.order.lexicographicallyPrecedes($1.order)
        }
        var differences: [String] = []
        let balance: RecordBalance
        if expected.count != found.count {
            differences.append("the source has \(expected.count) habits, and \(found.count) are here")
        }
        let entries = (expected.reduce(0) { $0 + $1.entries }, found.reduce(0) { $0 + $1.entries })
        if entries.0 != entries.1 {
            differences.append("the source has \(entries.0) entries, and \(entries.1) are here")
        }
        let pairs = zip(expected, found).filter { !$0.0.isEqual(to: $0.1) }
        for (left, right) in pairs.prefix(Self.mostDifferences) {
            differences.append("a habit has \(left) in the source and \(right) here")
        }
        if pairs.count > Self.mostDifferences {
            differences.append("and \(pairs.count - Self.mostDifferences) more habits differ")
        }
        if case .database(let database, let format) = finding {
            var account = try TrackerAccount(database, format, attachment: report.attachment, expected)
            differences += try account.differences()
            balance = account.balance
        } else {
            var account = try LeafAccount(plan, in: store, attachment: report.attachment, timeZone)
            try account.take(finding, path: path)
            differences += account.differences
            balance = account.balance
        }
        let edited = report.habits.differing + report.entries.differing
        if !differences.isEmpty, edited > 0 {
            differences.append("\(edited) records were changed here or in the source since they were imported first")
        }
        return TrackerReport.Verification(
            isEqual: differences.isEmpty,
            habits: expected.count,
            entries: entries.0,
            differences: differences,
            setAside: balance.findings
        )
    }

    private func expected() throws -> [HabitTally] {
        switch finding {
        case .database(let database, let format): try DatabaseTally.count(database, format)
        case .files(let files): try TextTally.loop(files)
        case .tables(let tables, let mapping, let timeZone): try TableTally.count(tables, mapping, timeZone)
        case .habitBull(let bytes): TextTally.habitBull(String(decoding: bytes, as: UTF8.self))
        case .json(_, let format): try JSONTally.count(path, format)
        case .harsh(let habits, let log): try TextTally.harsh(habits ?? "", log ?? "")
        }
    }

    private func found(_ transaction: any ReadTransaction, _ timeZone: TimeZone) throws -> [HabitTally] {
        var tallies: [UUID: HabitTally] = [:]
        for habit in plan.habits {
            guard let habit = try transaction.model(Habit.self, id: habit.id) else { continue }
            tallies[habit.id] = HabitTally(name: habit.name)
        }
        for id in plan.entries.map(\.id) {
            guard let entry = try transaction.model(Entry.self, id: id), let habit = entry.habitID,
                let day = LocalDay(containing: entry.date, in: timeZone)
            else { continue }
            tallies[habit]?.add(day: day.description, value: entry.value, note: entry.note)
        }
        return Array(tallies.values)
    }
}
