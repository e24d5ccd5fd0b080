import ArgumentParser
import HabitStore
import HabitStoreOperator
import HabitStoreReports
import HabitStoreRollout
import HabitTrackerImport

/// `habitstore import preferences FILE --key KEY`.
struct ImportPreferencesCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "preferences",
        abstract: "Makes drafts of the texts in a preferences file, and empties their key.",
        discussion: """
            The file is a property list, binary or XML; every other key keeps its value and its type. A run that was \
            stopped is finished by the next one: no text is lost, and none becomes two drafts. Quit the app first: \
            otherwise it may write back the old list from memory.
            """
    )

    @OptionGroup var trackerOptions: TrackerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The property list.")
    var file: String

    @Option(help: "The key of the texts in the outermost dictionary.")
    var key: String

    @Flag(help: "Only report what would be done.")
    var dryRun = false

    func run() async throws {
        // Reports errors in the file before creating a store.
        _ = try PreferencesImport.count(in: file, key: key)
        let folder = try await Self.folder(trackerOptions.user)
        let outcome = try await Tracker.importing(trackerOptions, isDry: dryRun) { store in
            let work = PreferencesImport(path: file, key: key, into: store, journalsIn: folder)
            return try dryRun ? work.rehearse() : work.run()
        }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "file": .string(file),
                    "key": .string(key),
                    "made": .int(outcome.made),
                    "madeBefore": .int(outcome.madeBefore),
                    "normalized": .int(outcome.normalized),
                    "originals": .optional(outcome.originals),
                    "emptied": .bool(outcome.isEmptied),
                    "wasInterrupted": .bool(outcome.wasInterrupted),
                    "dryRun": .bool(dryRun),
                ])
            )
        case .text: try Output.write(text(outcome))
        }
    }

    /// The folder where imports into a user's store keep their files.
    static func folder(_ options: UserOptions) async throws -> String {
        let settings = try await Settings(options)
        return try UserDirectory(root: settings.root, user: settings.user).path + "/imports"
    }

    private func text(_ outcome: PreferencesImport.Outcome) -> String {
        var lines: [String] = []
        if outcome.wasInterrupted {
            lines.append("an earlier run was interrupted; it had made \(drafts(outcome.madeBefore))")
        }
        if outcome.made == 0, outcome.madeBefore == 0 {
            lines.append("the key \(key) is empty: nothing to do")
        } else if dryRun {
            lines.append("would make \(drafts(outcome.made)), and empty the key \(key)")
        } else {
            lines.append("made \(drafts(outcome.made)), and emptied the key \(key)")
        }
        if outcome.normalized > 0 {
            lines.append(
                "\(outcome.normalized.counted("text")) \(outcome.normalized == 1 ? "is" : "are") kept in Unicode's composed form (NFC)"
            )
        }
        if let originals = outcome.originals {
            lines.append(
                "NFC replaces characters of some texts; their originals are in \(TerminalText.escaped(originals))"
            )
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func drafts(_ count: Int) -> String { count.counted("draft") }
}
