import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore habit delete HABIT`.
struct HabitDeleteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes a habit and all of its entries; to keep them, archive it."
    )

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The habit, by name or by the first digits of its id.")
    var habit: String

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let (deleted, entries) = try tracker.write { transaction in
            let habit = try transaction.habit(self.habit)
            let before = try transaction.fetchCount(FetchDescriptor<Entry>())
            try transaction.delete(habit)
            return (habit, before - (try transaction.fetchCount(FetchDescriptor<Entry>())))
        }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object(["deleted": .string(deleted.id.uuidString), "deletedEntries": .int(entries)])
            )
        case .text:
            let name = TerminalText.escaped(deleted.name)
            let count = entries.counted("entry", plural: "entries")
            try Output.write("deleted \(RecordReference.short(deleted.id)) \(name) and \(count)\n")
        }
    }
}
