import ArgumentParser
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitTracker

/// `habitstore tag add NAME`.
struct TagAddCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Adds a tag.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name; no two tags may have the same.")
    var name: String

    func validate() throws {
        guard !name.allSatisfy(\.isWhitespace) else { throw ValidationError("a tag needs a name") }
    }

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions, mayBegin: true)
        defer { tracker.close() }
        let tag = Tag(name: name)
        try tracker.write { try $0.insert(tag) }
        switch output.format {
        case .json: try JSON.write(JSON.object(["tag": tag.json(habitCount: 0)]))
        case .text: try Output.write("added \(RecordReference.short(tag.id)) \(TerminalText.escaped(tag.name))\n")
        }
    }
}
