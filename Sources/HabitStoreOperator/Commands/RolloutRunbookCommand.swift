import ArgumentParser
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout runbook`.
struct RolloutRunbookCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "runbook",
        abstract: "Explains what to do about a reason for which users wait or a fleet is halted.",
        discussion: """
            Without a reason all entries are printed: the gate's reasons, what halts a fleet, and the codes of errors. \
            Words in capitals are placeholders.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The reason, as `rollout status`, `fleet status` and the metrics name it.")
    var kind: String?

    func run() async throws {
        let entries = try entries()
        switch output.format {
        case .json: try JSON.write(RunbookReport(entries: entries))
        case .text: try Output.write(entries.map(Self.text).joined(separator: "\n"))
        }
    }

    private func entries() throws -> [RunbookEntry] {
        guard let kind else { return Runbook.entries }
        guard let entry = Runbook.entry(kind) else {
            throw CommandFailure.usage(
                "\"\(TerminalText.escaped(kind))\" is not a reason; `\(Tool.name) rollout runbook` lists all of them"
            )
        }
        return [entry]
    }

    private static func text(_ entry: RunbookEntry) -> String {
        """
        \(entry.kind)
          symptom:  \(entry.symptom)
          meaning:  \(entry.meaning)
          run:      \(entry.command)
          check:    \(entry.check)

        """
    }
}

/// Entries of the runbook.
struct RunbookReport: Encodable {
    let entries: [RunbookEntry]
}
