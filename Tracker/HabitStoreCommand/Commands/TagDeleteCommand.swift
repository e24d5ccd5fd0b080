import ArgumentParser
import HabitStore
import HabitStoreOperator
import HabitStoreReports

/// `habitstore tag delete TAG`.
struct TagDeleteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes a tag; the habits marked with it stay."
    )

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The tag, by name or by the first digits of its id.")
    var tag: String

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let deleted = try tracker.write { transaction in
            let tag = try transaction.tag(self.tag)
            try transaction.delete(tag)
            return tag
        }
        switch output.format {
        case .json: try JSON.write(JSON.object(["deleted": .string(deleted.id.uuidString)]))
        case .text:
            try Output.write("deleted \(RecordReference.short(deleted.id)) \(TerminalText.escaped(deleted.name))\n")
        }
    }
}
