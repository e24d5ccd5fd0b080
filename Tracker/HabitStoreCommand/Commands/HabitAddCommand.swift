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

    @Argument(help: "What it is called.")
    var name: String

    @Option(help: "A group of your own naming.")
    var category: String?

    @Option(parsing: .unconditional, help: "How often it is to be done within a period.")
    var times = 1

    @Option(parsing: .unconditional, help: "The length of a period in days.")
    var period = 1

    @Option(help: "The unit of its entries' values, such as km.")
    var unit: String?

    @Option(parsing: .unconditional, help: "The value to reach in a period.")
    var target: Double?

    @Option(
        name: [.customLong("tag"), .customLong("tags")],
        help: "A tag; made if there is none yet. May be repeated."
    )
    var tags: [String] = []

    @Flag(help: "Also where a habit has that name: both are then named by their ids.")
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
