import ArgumentParser
import HabitStoreRollout

/// `habitstore rollout evidence list`, which is what `habitstore rollout evidence` does.
struct RolloutEvidenceListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists a user's evidence, and checks that it was not changed. Changes nothing.",
        discussion: """
            Each line of the file has the SHA-256 of the line before it, and the stores remember how far the file had \
            come. Exit code 1 means that a line was changed, removed, repeated or moved. All lines are checked, and \
            the newest are listed; archives are not read.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "How many of the newest records to list.")
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
