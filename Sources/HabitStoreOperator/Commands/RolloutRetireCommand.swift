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
            A user must have been at complete, as the flags want it, for the retention time of the gate's policy \
            (retentionSeconds, 30 days by default), with intact evidence. Both stores are copied, the copy of the one \
            that the user has left catches up from the history, and both are compared in full. Only if nothing differs \
            is the store removed, which the evidence records. Files that were set aside next to it stay, and are \
            listed. For a wave of the root's fleet, the fleet's ledger has a line, too.

            Exit code 1 means that a user's store was kept, for the reasons shown.
            """
    )

    @OptionGroup var options: PolicyOptions
    @OptionGroup var jobOptions: JobOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "All users with a folder under the root.")
    var all = false

    @Option(help: ArgumentHelp("The users of a wave of the fleet, by its name or its number.", valueName: "name"))
    var wave: String?

    @Flag(help: "Only report whose store could be removed, and why the others are kept; verify nothing.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "A backup of the store that the user has left, to verify if that cannot be read: sqlite:PATH, lmdb:PATH, or a path.",
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
            if isDry { return try stores.retirement(of: user) }
            return try stores.withExisting(user) { try $0.retire(against: backup, by: NSUserName()) }
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
