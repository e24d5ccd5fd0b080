import ArgumentParser
import HabitStore
import HabitStoreOperator
import HabitStoreReports

/// `habitstore tag rename TAG NAME`.
struct TagRenameCommand: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "rename", abstract: "Gives a tag another name.")

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The tag, by name or by the first digits of its id.")
    var tag: String

    @Argument(help: "The new name.")
    var name: String

    func validate() throws {
        guard !name.allSatisfy(\.isWhitespace) else { throw ValidationError("a tag needs a name") }
    }

    func run() async throws {
        let tracker = try await Tracker.open(trackerOptions)
        defer { tracker.close() }
        let (renamed, count) = try tracker.write { transaction in
            var renamed = try transaction.tag(tag)
            renamed.name = name
            try transaction.save(renamed)
            return (renamed, renamed.habits.count)
        }
        switch output.format {
        case .json: try JSON.write(JSON.object(["tag": renamed.json(habitCount: count)]))
        case .text:
            try Output.write("renamed \(RecordReference.short(renamed.id)) \(TerminalText.escaped(renamed.name))\n")
        }
    }
}
