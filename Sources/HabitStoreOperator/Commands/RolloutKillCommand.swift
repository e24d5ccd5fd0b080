import ArgumentParser
import Foundation
import HabitStoreFleet
import HabitStoreRollout

/// `habitstore rollout kill`.
struct RolloutKillCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "kill",
            abstract: "Pulls the kill switch, and takes all users back to the old store at once, or some.",
            discussion: """
                The triggers are those of `\(Tool.name) flags kill`, and programs that have the stores open act on them by \
                themselves. Whoever has no program running is taken back here, in all stores that users have under the root \
                unless one is named. A user whose old store cannot be made current is named, keeps what there is, and is served \
                for reading only.
                Exit codes: 0 everybody was taken back; else that of the first user who could not be.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    @Option(
        help: ArgumentHelp("Only these users, with commas between them.", valueName: "a,b"),
        transform: KillOptions.users
    )
    var users: [String]?

    @Option(help: "Which trigger: the flag, the sentinel file, or both. With --users it is the flag.")
    var by = KillOptions.Trigger.both

    /// How many users are taken back at once for each processor: most of the time each waits for its disk.
    private static let jobsEach = 8

    /// The users who are named, in either way.
    private var named: [String]? { users ?? userOptions.user.map { [$0] } }

    func validate() throws {
        guard userOptions.user != "" else { throw ValidationError("the user id is empty; name a user with --user") }
        guard users == nil || userOptions.user == nil else { throw ValidationError("give --users or --user, not both") }
        guard named == nil || by != .sentinel else {
            throw ValidationError("the sentinel file is for everybody; leave --users out")
        }
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        try settings.requireKillFlag(users: named, by: by)
        let triggers = try settings.killTriggers(users: named, by: by)
        let begun = ContinuousClock.now
        let pulled = try triggers.pull()
        var results: [UserResult<Bool>] = []
        for place in try named == nil ? settings.ofAllStores() : [settings] {
            let stores = try place.stores(opensAsWritten: true)
            let listing = try named.map { UserListing(users: $0) } ?? stores.users()
            results += await jobOptions.run("taking back", listing, jobsEach: Self.jobsEach) { user in
                let landed = try stores.land(user)
                if landed.owesEvidence { StandardError.note(RolloutNotes.owedEvidence(user)) }
                return landed.isKilled
            }
        }
        let report = KillReport(
            triggers: triggers,
            isFlagSet: pulled.isFlagSet,
            flagFailure: pulled.flagFailure,
            results: results
        )
        if named == nil { tellFleet(settings, results, seconds: (ContinuousClock.now - begun) / .seconds(1)) }
        switch output.format {
        case .json: try JSON.write(report.json)
        case .text: try Output.write(report.text)
        }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }

    /// Writes down how long it took, where there is a fleet. The kill has landed, whatever becomes of that.
    private func tellFleet(_ settings: Settings, _ results: [UserResult<Bool>], seconds: Double) {
        let failed = results.failures().count
        do {
            try Fleet(root: settings.root).noteKill(
                by: NSUserName(),
                users: results.count - failed,
                failed: failed,
                seconds: seconds
            )
        } catch {
            StandardError.note("the fleet's ledger does not tell of it: \(ErrorReport.message(of: error))")
        }
    }
}
