import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore checkin HABIT`.
struct CheckinCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkin",
        abstract: "Records that a habit was done."
    )

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    @Option(
        name: [.customLong("at"), .customLong("date")],
        help: "When: today, yesterday, 2026-01-31, 2026-01-31T08:30. [default: now]"
    )
    var date: String?

    @Option(parsing: .unconditional, help: "A remark.")
    var note: String?

    @Option(parsing: .unconditional, help: "How much, in the habit's unit.")
    var value: Double?

    func validate() throws {
        if let value, !value.isFinite { throw ValidationError("--value must be a finite number") }
    }

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let date = try tracker.date(date)
        let (entry, habit, streaks) = try tracker.write { transaction in
            let habit = try transaction.habit(self.habit)
            let entry = Entry(date: date, note: note, value: value, habitID: habit.id)
            try transaction.insert(entry)
            return (entry, habit, try transaction.updateStreak(of: habit, tracker))
        }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "entry": entry.json(habitName: habit.name),
                    "currentStreak": .int(streaks.current),
                    "longestStreak": .int(streaks.longest),
                ])
            )
        case .text:
            let amount = entry.valueText(unit: habit.unit)
            let name = TerminalText.escaped(habit.name + (amount.isEmpty ? "" : ", \(amount)"))
            try Output.write(
                "checked in \(RecordReference.short(entry.id)) \(name), \(tracker.shown(date)): "
                    + "current streak \(streaks.unit.phrase(streaks.current)), "
                    + "longest \(streaks.unit.phrase(streaks.longest))\n"
            )
        }
    }
}
