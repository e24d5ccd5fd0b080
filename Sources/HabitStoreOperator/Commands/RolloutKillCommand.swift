import ArgumentParser
import Foundation
import HabitStoreFleet
import HabitStoreRollout

/// `habitstore rollout kill`.
struct RolloutKillCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "kill",
            abstract: "Pulls the kill switch, and takes all users, or some, back to the old store immediately.",
            discussion: """
                The triggers are those of `\(Tool.name) flags kill`, and programs that have the stores open act on \
                them. Users without a running program are taken back by this command, in all stores under the root \
                unless one is named. If a user's old store cannot be made current, the user is listed, keeps what \
                there is, and is served read-only. A store that cannot be read is listed, too, and does not keep other \
                users from being taken back.

                A kill is recorded before any store is opened for it. If it cannot be carried out, because a store \
                does not answer, is being migrated, or has a schema version that this program does not have, it stays \
                recorded, whatever becomes of the flag and the sentinel file, and takes effect at the next opening by \
                a program that can.

                A root or a named store without users is killed all the same, for users who are added later. The \
                report says so, with the names of existing stores, and ends with exit code 74, because a misspelt name \
                kills no user.
                Exit codes: 0 a user was reached, and everybody who was meant was taken back; 74 no user was reached; \
                75 the kill is recorded, and waits for a store or a program; otherwise the highest of those who could \
                not be taken back.
                """
        )
    }

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    @OptionGroup var lists: NamedUsers

    @Option(help: "Which trigger: the flag, the sentinel file, or both. With named users it is the flag.")
    var by = KillOptions.Trigger.both

    /// How many users each processor takes back at the same time: most of the time they wait for the disk.
    private static let jobsEach = 8

    func validate() throws {
        guard !userOptions.users.contains("") else {
            throw ValidationError("the user id is empty; name a user with --user")
        }
        guard by != .sentinel || userOptions.users.isEmpty && lists.isEmpty else {
            throw ValidationError("the sentinel file is for everybody; leave --users out")
        }
    }

    func run() async throws {
        var options = userOptions
        options.users = []
        let settings = try await Settings(options)
        let named = try lists.ids(and: userOptions.users, root: settings.root)
        try settings.requireKillFlag(users: named, by: by)
        let triggers = try settings.killTriggers(
            users: named,
            by: by,
            sentinel: RolloutFlags.sentinelPath(root: settings.root)
        )
        let begun = ContinuousClock.now
        let pulled = try triggers.pull()
        let places: (stores: [Settings], failure: (any Error)?) =
            named == nil ? settings.ofAllStores() : ([settings], nil)
        var taken: [TakenBack] = []
        var unread = places.failure.map { [KillReport.Unread(what: "the stores with names", error: $0)] } ?? []
        for place in places.stores {
            do {
                taken.append(try await takeBack(place, named, since: begun))
            } catch {
                let what = place.store.map { "the store \($0.text)" } ?? "the stores without a name"
                unread.append(.init(what: what, error: error))
            }
        }
        let results = taken.flatMap(\.results)
        let report = KillReport(
            triggers: triggers,
            pulled: pulled,
            results: results,
            unread: unread,
            absence: named == nil && results.isEmpty && unread.isEmpty ? settings.absence() : nil
        )
        switch output.format {
        case .json: try JSON.write(report.json)
        case .text: try Output.write(report.text)
        }
        // Only now, so that no user waits for a fleet's files.
        for part in taken { tellFleet(part, isForAll: named == nil) }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }

    /// The users of one store root, taken back.
    private struct TakenBack {
        let place: StoreRoot
        let stores: UserStores
        let results: [UserResult<Bool>]
        /// The seconds since the kill switch was pulled.
        let seconds: Double
    }

    /// Takes back the users with stores in a root, or the named ones among them.
    ///
    /// - Throws: an error if the users cannot be listed.
    private func takeBack(
        _ settings: Settings,
        _ named: [String]?,
        since begun: ContinuousClock.Instant
    ) async throws -> TakenBack {
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        let listing = try named.map { UserListing(users: $0) } ?? stores.users()
        let results = await jobOptions.run("taking back", listing, jobsEach: Self.jobsEach) { user in
            let landed = try stores.land(user)
            if landed.owesEvidence { StandardError.note(RolloutNotes.owedEvidence(user)) }
            return landed.isKilled
        }
        let seconds = (ContinuousClock.now - begun) / .seconds(1)
        return TakenBack(place: settings.place, stores: stores, results: results, seconds: seconds)
    }

    /// Records in the fleet, if there is one, how long the kill took and where users are now. The kill has been applied, even if this fails.
    private func tellFleet(_ taken: TakenBack, isForAll: Bool) {
        let (fleet, failed) = (Fleet(taken.place), taken.results.failures().count)
        do {
            if isForAll {
                try fleet.noteKill(
                    by: NSUserName(),
                    users: taken.results.count - failed,
                    failed: failed,
                    seconds: taken.seconds
                )
            }
        } catch {
            StandardError.note("the kill is not in the fleet's ledger: \(ErrorReport.message(of: error))")
        }
        do {
            try fleet.noteTakenBack(taken.results.map(\.user), in: taken.stores)
        } catch {
            StandardError.note("the kill is not in the fleet's index: \(ErrorReport.message(of: error))")
        }
    }
}
