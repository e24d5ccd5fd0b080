import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore chart HABIT`.
struct ChartCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "chart",
        abstract: "Draws the last days of a habit."
    )

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var watching: WatchOptions

    var isFollowing: Bool { watching.watch }

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    @Option(parsing: .unconditional, help: "How many days.")
    var days = 30

    @Flag(help: "Draw with ASCII characters only.")
    var ascii = false

    func validate() throws {
        guard (1...HabitCalendar.maximumDays).contains(days) else {
            throw ValidationError("--days must be from 1 to \(HabitCalendar.maximumDays)")
        }
    }

    func run() async throws {
        var habitID: UUID?
        try await watching.show(trackerOptions) { try answer($0, &habitID) }
    }

    /// - Parameter habitID: the habit found by the first answer; set if it is nil.
    private func answer(_ tracker: Tracker, _ habitID: inout UUID?) throws -> Answer {
        let (habit, entries) = try tracker.read { transaction in
            let habit = try transaction.habit(self.habit, knownBy: &habitID)
            return (habit, try transaction.entries(of: habit.id))
        }
        let calendar = try HabitCalendar(
            lastDays: days,
            endingOn: tracker.now,
            calendar: tracker.calendar,
            entries: entries.map { (date: $0.date, value: $0.value) }
        )
        let streaks = habit.streaks(entries.map(\.date), calendar: tracker.calendar, now: tracker.now)
        switch output.format {
        case .json: return .document(json(habit, calendar, streaks))
        case .text:
            let chart = TerminalChart(
                name: habit.name,
                unit: habit.unit,
                schedule: habit.schedule,
                calendar: calendar,
                began: LocalDay(containing: habit.createdAt, in: tracker.timeZone)
            )
            let line =
                "current streak \(streaks.unit.phrase(streaks.current)), "
                + "longest \(streaks.unit.phrase(streaks.longest))\n"
            return .text(chart.text(Terminal.options(isASCII: ascii)) + line)
        }
    }

    private func json(_ habit: Habit, _ calendar: HabitCalendar, _ streaks: Streaks) -> JSON {
        .object([
            "habit": .string(habit.name),
            "habitID": .string(habit.id.uuidString),
            "unit": .optional(habit.unit),
            "currentStreak": .int(streaks.current),
            "longestStreak": .int(streaks.longest),
            "days": .array(
                calendar.days.map { day in
                    .object([
                        "day": .string(day.day.description),
                        "count": .int(day.count),
                        "valueCount": .int(day.valueCount),
                        "valueSum": .double(day.valueSum),
                    ])
                }
            ),
        ])
    }
}
