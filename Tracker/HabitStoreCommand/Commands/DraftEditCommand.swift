import ArgumentParser
import HabitStore
import HabitStoreOperator

/// `habitstore draft edit DRAFT`.
struct DraftEditCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "edit", abstract: "Changes a draft.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The draft, by the first digits of its id.")
    var draft: String

    @Option(name: [.customLong("text"), .customLong("content")], parsing: .unconditional, help: "A new text.")
    var text: String?

    @Option(name: .customLong("attach"), help: "The name of a file to attach. May be repeated.")
    var attachments: [String] = []

    @Option(name: .customLong("detach"), help: "The name of an attached file to remove. May be repeated.")
    var detachments: [String] = []

    func validate() throws {
        guard text != nil || !attachments.isEmpty || !detachments.isEmpty else {
            throw ValidationError("nothing to change; give a new value with one of the options")
        }
    }

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let edited = try tracker.write { transaction in
            var edited = try transaction.draft(draft)
            if let text { edited.content = text }
            edited.attachments.removeAll { detachments.contains($0) }
            edited.attachments += attachments
            try transaction.save(edited)
            return edited
        }
        switch output.format {
        case .json: try JSON.write(JSON.object(["draft": edited.json]))
        case .text: try Output.write("changed \(RecordReference.short(edited.id))\n")
        }
    }
}
