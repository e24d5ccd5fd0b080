import ArgumentParser
import HabitStore
import HabitStoreRollout

/// `habitstore rollout advance`.
struct RolloutAdvanceCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "advance",
        abstract: "Moves a user, or all, towards the stage that the flags want, as far as the gate allows.",
        discussion: """
            Users pass through each stage in order. Verifications and rehearsals that the gate asks for are made on \
            the way; shadow reads are not, because they come from the users. It can be stopped at any moment, and \
            continues when it is run again.
            Exit codes: 0 everybody is where the flags want, or they want nothing; 1 a user is not, because the gate \
            refuses or a percentage wants the user back; 65 what the flags want for a user cannot be determined; 65, \
            74 as everywhere, for the first user who could not be moved.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    @Flag(help: "All users under the root.")
    var all = false

    @Option(help: "How long a user's new store may take to fill and catch up, in seconds.")
    var wait = 600.0

    func validate() throws {
        try options.userOptions.requireNoUser(with: all)
        guard wait >= 0, wait <= 86_400 else { throw ValidationError("--wait is 0 to 86400 seconds") }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let wait = wait
        let results: [UserResult<PromotionReport>]
        if all {
            results = await jobOptions.run("advancing", try stores.users()) { user in
                try stores.withExisting(user) { try Self.advance($0, wait) { _, _, _ in } }
            }
        } else {
            let bar = ProgressBar(isQuiet: jobOptions.quiet)
            let report = try stores.withOnly(settings.user) { store in
                defer { bar.clear() }
                return try Self.advance(store, wait) { bar.show($0, $1, $2) }
            }
            results = [UserResult(user: settings.user, result: .success(report))]
        }
        let report = AdvanceReport(results)
        switch output.format {
        case .json: try JSON.write(report.json)
        case .text: try Output.write(report.text(Terminal.options(), hasSummary: all))
        }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }

    private static func advance(
        _ store: UserStore,
        _ waitSeconds: Double,
        _ progress: (String, Int, Int) -> Void
    ) throws -> PromotionReport {
        let from = try store.stage()
        let decision = try store.advance(waitSeconds: waitSeconds, progress: progress)
        return try PromotionReport(store, from: from, decision)
    }
}
