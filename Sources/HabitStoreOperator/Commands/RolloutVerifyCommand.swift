import ArgumentParser
import HabitStoreRollout

/// `habitstore rollout verify`.
struct RolloutVerifyCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify",
            abstract:
                "Compares a user's two stores as `\(Tool.name) verify` does, and records the result as evidence.",
            discussion: """
                Exit code 1 means that they differ, or that writes to them never paused; 2 that the ignore rules of \
                the gate's policy cover all differences.
                """
        )
    }

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "A file of more queries to compare.")
    var queries: String?

    @Flag(help: "Show no progress.")
    var quiet = false

    func run() async throws {
        let (settings, stores) = try await options.stores(queries: queries)
        let bar = ProgressBar(isQuiet: quiet)
        let report = try stores.withOnly(settings.user) { store in
            defer {
                bar.clear()
                if store.owesEvidence { StandardError.note(RolloutNotes.owedEvidence(settings.user)) }
            }
            return try store.verify { bar.show($0, $1, $2) }
        }
        switch output.format {
        case .json: try JSON.write(report)
        case .text:
            let isDifferent = report.openDifferenceCount > 0
            let help = isDifferent ? RolloutNotes.help(against: .verificationNotClean) : ""
            try Output.write(VerificationText(report, options: Terminal.options()).text + help)
        }
        try ExitStatus.end(with: report)
    }
}
