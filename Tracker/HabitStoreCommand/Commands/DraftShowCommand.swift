import ArgumentParser
import HabitStore
import HabitStoreOperator
import HabitStoreReports

/// `habitstore draft show DRAFT`.
struct DraftShowCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Shows a draft's whole text.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The draft, by the first digits of its id.")
    var draft: String

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let draft = try tracker.read { try $0.draft(self.draft) }
        switch output.format {
        case .json: try JSON.write(JSON.object(["draft": draft.json]))
        case .text:
            // Line breaks stay; other control characters are escaped.
            let lines = draft.content.split(separator: "\n", omittingEmptySubsequences: false)
            var text = lines.map { TerminalText.escaped(String($0)) + "\n" }.joined()
            for name in draft.attachments { text += "attached: \(TerminalText.escaped(name))\n" }
            try Output.write(text)
        }
    }
}
