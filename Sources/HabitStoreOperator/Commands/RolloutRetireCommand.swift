import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout

/// `habitstore rollout retire`.
struct RolloutRetireCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire",
        abstract: "Removes the store that users have left, at the end of their rollout.",
        discussion: """
            A user has to be at complete, as the flags want it, for the retention time of the gate's policy (retentionSeconds, \
            30 days unless said otherwise), with whole evidence. Then copies of both stores are made, what the user has left is \
            brought up by the history, and both are compared in full. Only if nothing differs is the store removed, which is a \
            line of the evidence. What was set aside beside it is left, and named. Of a wave of the root's fleet it is a line of \
            the fleet's ledger, too.

            Exit code 1 means that somebody's store was kept, for the reasons that are shown.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var jobOptions: JobOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "For everybody who has a folder under the root.")
    var all = false

    @Option(help: ArgumentHelp("For the users of a wave of the fleet, by its name or its number.", valueName: "name"))
    var wave: String?

    @Flag(help: "Only say whose store could be removed, and what keeps the others; nothing is verified.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "A backup of what the user has left, sqlite:PATH, lmdb:PATH or a path, to be verified where that cannot be read.",
            valueName: "store"
        )
    )
    var against: String?

    func validate() throws {
        let isForUser = options.userOptions.user != nil
        guard [all, isForUser, wave != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("say whose store is removed, with --user, --wave or --all, and only one of these")
        }
        guard isForUser || against == nil else {
            throw ValidationError("--against is a backup of one user; give --user")
        }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores()
        let backup = try against.map { try StoreAddress(argument: $0) }
        let isDry = dryRun
        let fleet = Fleet(root: settings.root)
        let part = try wave.map { try fleet.wave($0) }
        let listing = all ? try stores.users() : UserListing(users: part?.users ?? [settings.user])
        let results = await jobOptions.run(isDry ? "asking" : "retiring", listing) { user in
            try stores.withExisting(user) { try $0.retire(against: backup, by: NSUserName(), isDry: isDry) }
        }
        let report = RetirementReport(results, isDry: isDry)
        if let part, !isDry {
            let kept = part.users.count - report.removed - report.before
            try fleet.noteRetired(wave: part.number, users: report.removed, failed: kept)
        }
        switch output.format {
        case .json: try JSON.write(report.json)
        case .text: try Output.write(report.text(hasSummary: all || part != nil))
        }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }
}
