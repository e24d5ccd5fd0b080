import ArgumentParser
import Foundation
import HabitStore
import HabitStoreOperator

/// `habitstore entry delete ENTRY`.
struct EntryDeleteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Deletes an entry.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The entry, by the first digits of its id.")
    var entry: String

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let deleted = try tracker.write { transaction in
            let entry = try transaction.entry(self.entry)
            let habit = entry.habit
            try transaction.delete(entry)
            if let habit { try transaction.updateStreak(of: habit, tracker) }
            return entry
        }
        switch output.format {
        case .json: try JSON.write(JSON.object(["deleted": .string(deleted.id.uuidString)]))
        case .text: try Output.write("deleted \(RecordReference.short(deleted.id)), \(tracker.shown(deleted.date))\n")
        }
    }
}
