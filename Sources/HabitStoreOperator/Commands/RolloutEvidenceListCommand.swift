import ArgumentParser
import HabitStoreRollout

/// `habitstore rollout evidence list`, which is what `habitstore rollout evidence` does.
struct RolloutEvidenceListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints what happened on a user's way, and checks that nothing was changed in it. Changes nothing.",
        discussion: """
            Each line of the file holds the SHA-256 of the line before it, and the stores remember how far it had come. \
            Exit code 1 means that a line was changed, removed, repeated or moved. All lines are checked; the newest ones are \
            listed. What was archived is not.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "How many of the newest records are listed.")
    var limit = EvidenceLog.newestRecords

    func validate() throws {
        guard limit >= 0 else { throw ValidationError("--limit takes a number of records, 0 or more") }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let log = try stores.evidence(of: settings.user)
        let anchor = try stores.evidenceAnchor(of: settings.user)
        let report = EvidenceReport(
            user: settings.user,
            path: log.path,
            listing: try log.newest(limit),
            isCutOff: try !log.contains(anchor),
            uncounted: try stores.uncountedEvidence(of: settings.user)
        )
        switch output.format {
        case .json: try JSON.write(report)
        case .text: try Output.write(report.text(Terminal.options(), timeZone: settings.timeZone))
        }
        if !report.isIntact { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
