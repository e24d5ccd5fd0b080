import ArgumentParser
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout evidence archive`.
struct RolloutEvidenceArchiveCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive",
        abstract: "Moves the older part of a user's evidence to another file in the same folder.",
        discussion: """
            Records before the last checkpoint go to evidence-FIRST-LAST.jsonl. The gate does not need them; \
            `rollout evidence verify` reads them, and reports a missing archive.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let archived = try stores.withOnly(settings.user) { try $0.archiveEvidence() }
        switch output.format {
        case .json:
            try JSON.write(JSON.object(["user": .string(settings.user), "file": .optional(archived?.file)]))
        case .text:
            let what =
                archived.map { "records \($0.first) to \($0.last), \($0.sizeBytes.counted("byte")), are in \($0.file)" }
                ?? "there is too little evidence to archive any"
            try Output.write(TerminalText.escaped("\(settings.user): \(what)") + "\n")
        }
    }
}
