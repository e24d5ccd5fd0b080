import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore habit add NAME`.
struct HabitAddCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Adds a habit.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name.")
    var name: String

    @Option(help: "The category, a name of your choice.")
    var category: String?

    @Option(parsing: .unconditional, help: "How often to do it in each period.")
    var times = 1

    @Option(parsing: .unconditional, help: "The length of a period in days.")
    var period = 1

    @Option(help: "The unit of its entries' values, such as km.")
    var unit: String?

    @Option(parsing: .unconditional, help: "The value to reach in a period.")
    var target: Double?

    @Option(
        name: [.customLong("tag"), .customLong("tags")],
        help: "A tag, created if it is missing. May be repeated."
    )
    var tags: [String] = []

    @Flag(help: "Allow the name of another habit; both are then addressed by their ids.")
    var sameName = false

    func validate() throws { try HabitRules.check(name: name, times: times, period: period, target: target) }

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions, mayBegin: true)
        defer { tracker.close() }
        var habit = Habit(
            name: name,
            createdAt: tracker.now,
            category: category,
            timesPerPeriod: times,
            periodDays: period,
            unit: unit,
            target: target
        )
        let summary = try tracker.write { transaction in
            if !sameName { try transaction.requireNewName(name) }
            habit.tagIDs = try transaction.tagIDs(named: tags)
            try transaction.insert(habit)
            return try transaction.summary(habit, tracker)
        }
        switch output.format {
        case .json: try JSON.write(JSON.object(["habit": summary.json]))
        case .text:
            try Output.write(
                "added \(RecordReference.short(habit.id)) \(TerminalText.escaped(habit.name)), \(habit.schedule)\n"
            )
        }
    }
}
