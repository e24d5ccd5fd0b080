import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore entry list HABIT`.
struct EntryListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists a habit's entries, latest first."
    )

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var watching: WatchOptions

    var isFollowing: Bool { watching.watch }

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    @Option(parsing: .unconditional, help: "The maximum number of entries.")
    var limit: Int?

    @Option(help: "Only entries on or after this date: today, 2026-01-31, 2026-01-31T08:30.")
    var since: String?

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit must be 0 or more") }
    }

    func run() async throws {
        var habitID: UUID?
        try await watching.show(trackerOptions) { try answer($0, &habitID) }
    }

    /// - Parameter habitID: the habit found by the first answer; set if it is nil.
    private func answer(_ tracker: Tracker, _ habitID: inout UUID?) throws -> Answer {
        let (habit, entries) = try tracker.read { transaction in
            let habit = try transaction.habit(self.habit, knownBy: &habitID)
            var conditions: [FilterExpression] = [
                .compare(.equal, .attribute(AttributePath("habitID")), .literal(.uuid(habit.id)))
            ]
            if let since {
                let date = try tracker.beginning(of: since)
                conditions.append(.compare(.greaterOrEqual, .attribute(AttributePath("date")), .literal(.date(date))))
            }
            let descriptor = FetchDescriptor<Entry>(
                filter: .all(conditions),
                sortBy: [SortDescriptor(\.date, order: .reverse)],
                fetchLimit: limit
            )
            return (habit, try transaction.fetch(descriptor))
        }
        switch output.format {
        case .json:
            return .document(
                JSON.object([
                    "habit": .string(habit.name),
                    "habitID": .string(habit.id.uuidString),
                    "entries": .array(entries.map { $0.json(habitName: habit.name) }),
                ])
            )
        case .text:
            var table = TextTable([
                .init("id", canShrink: false), .init("date", canShrink: false), .init("value", alignment: .right),
                .init("note", maximumWidth: 80),
            ])
            for entry in entries {
                table.append([
                    RecordReference.short(entry.id), tracker.shown(entry.date), entry.valueText(unit: habit.unit),
                    entry.note ?? "",
                ])
            }
            return .text(entries.isEmpty ? "no entries\n" : table.text(Terminal.options()))
        }
    }
}
