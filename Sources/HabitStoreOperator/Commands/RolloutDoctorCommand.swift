import ArgumentParser
import Foundation
import HabitStoreRollout

/// `habitstore rollout doctor`.
struct RolloutDoctorCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Reports what is wrong with users' folders, what it means, and what helps.",
        discussion: """
            Checks all users, or with --user one. Changes nothing without --fix, which repairs what leaves no doubt.
            Exit codes: 0 nothing is wrong, or everything was repaired; 1 something is left; otherwise that of the \
            first user who could not be checked.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    @Flag(help: "All users under the root. This is the default.")
    var all = false

    @Flag(help: "Repair what leaves no doubt.")
    var fix = false

    func validate() throws {
        try userOptions.requireNoUser(with: all)
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let users = try userOptions.user.map { UserListing(users: [$0]) } ?? stores.users()
        let fixes = fix
        let results = await jobOptions.run(fix ? "mending" : "looking", users) { user in
            DoctorReport.User(
                before: try stores.examine(user),
                left: fixes ? try stores.mend(user) : nil
            )
        }
        let report = DoctorReport(results: results)
        switch output.format {
        case .json: try JSON.write(report.json)
        case .text: try Output.write(report.text)
        }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }
}
