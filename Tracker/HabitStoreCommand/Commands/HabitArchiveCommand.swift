import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports

/// `habitstore habit archive HABIT`.
struct HabitArchiveCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive",
        abstract: "Archives a habit; its entries stay."
    )

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    @Flag(help: "Unarchive it.")
    var undo = false

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let summary = try tracker.write { transaction in
            var habit = try transaction.habit(self.habit)
            habit.isArchived = !undo
            try transaction.save(habit)
            return try transaction.summary(habit, tracker)
        }
        switch output.format {
        case .json: try JSON.write(JSON.object(["habit": summary.json]))
        case .text:
            let (id, name) = (RecordReference.short(summary.habit.id), TerminalText.escaped(summary.habit.name))
            try Output.write("\(undo ? "unarchived" : "archived") \(id) \(name)\n")
        }
    }
}
