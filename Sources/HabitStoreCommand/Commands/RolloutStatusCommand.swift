import ArgumentParser
import HabitStoreRollout

/// `habitstore rollout status`.
struct RolloutStatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows where users are on the way, and what is known of them. Changes nothing.",
        discussion: """
            All users, or with --user one. A store that cannot be read is named in the user's row, and makes the exit code \
            65 or 74, after all rows, and so does a folder of which nobody can tell whose it is; evidence that is damaged \
            makes it 1.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    func run() async throws {
        let (settings, stores) = try await options.stores(opensAsWritten: true)
        let users = try options.userOptions.user.map { UserListing(users: [$0]) } ?? stores.users()
        if options.userOptions.user != nil { try stores.check(settings.user) }
        let results = await jobOptions.run("looking", users) { try stores.status(of: $0) }
        let statuses = results.compactMap { try? $0.result.get() }
        let failures = results.failures().map(\.error)
        switch output.format {
        case .json: try JSON.write(RolloutStatusReport.json(statuses))
        case .text:
            for note in Set(statuses.flatMap(\.notes)).sorted() { StandardError.note(note) }
            if !statuses.isEmpty || failures.isEmpty {
                let report = RolloutStatusReport(statuses, options: Terminal.options(), timeZone: settings.timeZone)
                try Output.write(report.text)
            }
        }
        for failure in failures { _ = ErrorReport(failure, showsDetail: output.verbose).emit() }
        if let error = failures.first ?? statuses.lazy.compactMap(\.problems.first).first?.error {
            throw ExitCode(ErrorReport(error, showsDetail: false).status.rawValue)
        }
        if statuses.contains(where: { !$0.evidence.isIntact }) { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
