import ArgumentParser
import FeatureFlags
import Foundation
import HabitStoreRollout

/// `habitstore rollout rearm`.
struct RolloutRearmCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rearm",
        abstract: "Arms the kill switch again, so that users may move forward. They stay where they are.",
        discussion: """
            --all takes the flag back, removes the sentinel file and the record of the kill, and then re-arms every \
            user; --user removes one user from the flag and re-arms that user. Each user's evidence records who did \
            it.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    @Flag(help: "All users under the root.")
    var all = false

    func validate() throws {
        guard all == (userOptions.user == nil) else {
            throw ValidationError("name whom to re-arm: --user U for one user, or --all for everybody")
        }
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        // Checked before anything else: a named store cannot be re-armed before its root.
        try settings.stores(otherVersions: .asWrittenByAnyApp).requireRootRearmed()
        let triggers = try settings.killTriggers(
            users: all ? nil : [settings.user],
            by: .both,
            sentinel: RolloutFlags.sentinelPath(root: settings.root)
        )
        let rearmed = try rearm(triggers)
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let isRootRearmed = all ? try stores.rearmRoot() : false
        let person = NSUserName()
        let results = await jobOptions.run("re-arming", try all ? stores.users() : UserListing(users: [settings.user]))
        { user in
            try stores.withExisting(user) { try $0.rearm(by: person) }
        }
        let report = RearmReport(
            triggers: triggers,
            rearmed: rearmed,
            isRootRearmed: isRootRearmed,
            results: results
        )
        switch output.format {
        case .json: try JSON.write(report.json)
        case .text: try Output.write(report.text)
        }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }

    /// A missing flag does not kill this user either.
    private func rearm(_ triggers: KillTriggers) throws -> KillTriggers.Rearmed {
        do {
            return try triggers.rearm()
        } catch let error as FlagError where error.code == .flagNotFound || error.code == .fileNotFound {
            StandardError.note("\(error)")
            return KillTriggers.Rearmed(isFlagRearmed: false, removedSentinel: nil)
        }
    }
}
