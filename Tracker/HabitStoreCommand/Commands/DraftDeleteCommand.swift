import ArgumentParser
import HabitStore
import HabitStoreOperator

/// `habitstore draft delete DRAFT`.
struct DraftDeleteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Deletes a draft.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The draft, by the first digits of its id.")
    var draft: String

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let deleted = try tracker.write { transaction in
            let draft = try transaction.draft(self.draft)
            try transaction.delete(draft)
            return draft
        }
        switch output.format {
        case .json: try JSON.write(JSON.object(["deleted": .string(deleted.id.uuidString)]))
        case .text: try Output.write("deleted \(RecordReference.short(deleted.id))\n")
        }
    }
}
