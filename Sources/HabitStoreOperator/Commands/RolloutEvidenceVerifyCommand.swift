import ArgumentParser
import HabitStoreReports
import HabitStoreRollout

/// `habitstore rollout evidence verify`.
struct RolloutEvidenceVerifyCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks every line of a user's evidence, archives included. Changes nothing.",
        discussion: """
            The gate reads from the last checkpoint on; this reads everything. Exit code 1 means that a line was \
            changed, removed, repeated or moved, or that an archive is missing: the checkpoint after it still has the \
            sum of its records, which is enough for the gate, but the records can no longer be checked.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let found = try stores.verifyEvidence(of: settings.user)
        switch output.format {
        case .json: try JSON.write(EvidenceVerificationReport(user: settings.user, verification: found))
        case .text: try Output.write(TerminalText.escaped("\(settings.user): \(found.sentence)") + "\n")
        }
        if !found.isWhole { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
