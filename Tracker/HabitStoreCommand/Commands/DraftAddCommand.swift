import ArgumentParser
import HabitStore
import HabitStoreOperator
import HabitTracker

/// `habitstore draft add TEXT`.
struct DraftAddCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Adds a draft.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The text.")
    var text: String

    @Option(name: .customLong("attach"), help: "The name of an attached file. May be repeated.")
    var attachments: [String] = []

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions, mayBegin: true)
        defer { tracker.close() }
        let draft = Draft(content: text, creationDate: tracker.now, attachments: attachments)
        try tracker.write { try $0.insert(draft) }
        switch output.format {
        case .json: try JSON.write(JSON.object(["draft": draft.json]))
        case .text: try Output.write("added \(RecordReference.short(draft.id))\n")
        }
    }
}
