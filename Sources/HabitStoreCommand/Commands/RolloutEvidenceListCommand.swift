import ArgumentParser
import HabitStoreRollout
import HabitTracking

/// `habitstore rollout evidence list`, which is what `habitstore rollout evidence` does.
struct RolloutEvidenceListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints what happened on a user's way, and checks that nothing was changed in it. Changes nothing.",
        discussion: """
            Each line of the file holds the SHA-256 of the line before it, and the stores remember how far it had come. \
            Exit code 1 means that a line was changed, removed, repeated or moved. What was archived is not listed.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let log = try stores.evidence(of: settings.user)
        let isCutOff = try stores.status(of: settings.user).evidence.isCutOff
        let report = EvidenceReport(user: settings.user, path: log.path, chain: try log.read(), isCutOff: isCutOff)
        switch output.format {
        case .json: try JSON.write(report)
        case .text: try Output.write(report.text(Terminal.options(), timeZone: settings.timeZone))
        }
        if !report.isIntact { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
