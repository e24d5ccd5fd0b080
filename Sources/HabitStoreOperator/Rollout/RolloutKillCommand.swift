import ArgumentParser
import FeatureFlags
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout
import JSONText
import Synchronization

/// `habitstore rollout kill`.
struct RolloutKillCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "kill",
            abstract: "Pulls the kill switch, and takes all users, or some, back to the old store.",
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
                Exit codes: 0 a user was reached, and everybody who was meant was taken back; 74 there was no user to reach, \
                or a user's kill could not even be recorded; 75 the kill is recorded, and waits for a store, a file or a \
                program; otherwise the highest of those who could not be taken back.
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
        try by.validate(userOptions.users, lists)
    }

    func run() async throws {
        var options = userOptions
        options.users = []
        let settings = try await Settings(options)
        let named = try lists.ids(and: userOptions.users, root: settings.root)
        try settings.requireKillFlag(users: named, by: by)
        let triggers = try KillTriggers(settings, users: named, by: by)
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
            leftNew: taken.reduce(0) { $0 + $1.leftNew },
            unread: unread,
            absence: named == nil && results.isEmpty && unread.isEmpty ? settings.absence() : nil
        )
        try output.write(report.json) { report.text }
        // Only now, so that no user waits for a fleet's files.
        for part in taken { tellFleet(part, isForAll: named == nil) }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }

    /// The users of one store root, taken back.
    private struct TakenBack {
        let place: StoreRoot
        let stores: UserStores
        let results: [UserResult<Bool>]
        /// How many of them the new store served before.
        let leftNew: Int
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
        let leftNew = Atomic(0)
        let results = await jobOptions.run("taking back", listing, jobsEach: Self.jobsEach) { user in
            let landed = try AdvisedUser(user, store: settings.store).filling { try stores.applyKill(user) }
            if landed.owesEvidence { StandardError.note(RolloutNotes.owedEvidence(user)) }
            if landed.hasLeftNew { leftNew.add(1, ordering: .relaxed) }
            return landed.isKilled
        }
        let seconds = (ContinuousClock.now - begun) / .seconds(1)
        let count = leftNew.load(ordering: .relaxed)
        return TakenBack(place: settings.place, stores: stores, results: results, leftNew: count, seconds: seconds)
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

/// The result of pulling the kill switch: the triggers, and the users who were taken back.
struct KillReport {
    /// Stores whose users could not be listed.
    struct Unread {
        /// The stores, in words.
        let what: String
        let error: any Error
    }

    let triggers: KillTriggers
    let pulled: KillTriggers.Pulled
    /// Whether each user is now killed, or why the user could not be taken back.
    let results: [UserResult<Bool>]
    /// How many users the new store served before.
    let leftNew: Int
    let unread: [Unread]
    /// A message that no user has such stores; nil if some user has.
    let absence: String?

    private var failures: [(user: String, error: any Error)] { results.failures() }

    /// Why a recorded kill is not applied yet; nil if the kill is not recorded.
    private static func recorded(_ error: any Error) -> RecordedKill? {
        (error as? HabitStoreError)?.underlying as? RecordedKill
    }

    private var landed: Int { results.count { (try? $0.result.get()) == true } }

    /// Whether a kill without failures reached no user.
    private var hasReachedNobody: Bool { landed == 0 && failures.isEmpty && unread.isEmpty }

    /// The exit code: the highest of all users. A recorded kill that waits counts unless another user's code is higher.
    var status: ExitStatus {
        let errors = failures.map(\.error) + unread.map(\.error)
        let lost = errors.filter { Self.recorded($0)?.isWaiting != true }
        let statuses = lost.map { ErrorReport($0, showsDetail: false).status }
        if let highest = statuses.max(by: { $0.rawValue < $1.rawValue }) { return highest }
        guard errors.isEmpty else { return .temporaryFailure }
        return hasReachedNobody ? .inputOutput : .success
    }

    var text: String {
        var lines = ["killed for \(triggers.whom)"]
        if pulled.isFlagSet { lines.append("  by the flag \(triggers.flag) in \(triggers.file)") }
        if let sentinel = triggers.presentSentinel { lines.append("  by the sentinel file \(sentinel)") }
        for (user, error) in failures {
            lines.append("\(user): NOT TAKEN BACK: \(ErrorReport.message(of: error, for: user))")
        }
        for part in unread { lines.append("\(part.what): NOT TAKEN BACK: \(ErrorReport.message(of: part.error))") }
        if let absence { lines.append("\(absence); the kill applies to users who are added later") }
        if leftNew > 0 {
            lines.append("`\(Tool.name) rollout doctor` checks the old store, which a kill does not read whole")
        }
        let spared = results.count - landed - failures.count
        lines.append(
            "\(landed) of \(results.count.counted("user")) \(results.count == 1 ? "is" : "are") on the old store, \(failures.count) could not be taken back"
                + (spared > 0 ? ", \(spared) are not meant" : "")
        )
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    var json: JSONObject {
        [
            "flag": pulled.isFlagSet ? triggers.flag : nil,
            "flagFile": triggers.file,
            "flagError": pulled.flagFailure?.description,
            "sentinel": triggers.presentSentinel,
            "users": results.map { $0.json("isKilled") },
            "landed": landed,
            "failed": failures.count,
            "recorded": failures.count { Self.recorded($0.error) != nil },
            "unread": unread.map { ["what": $0.what, "error": ErrorReport.message(of: $0.error)] as JSONObject },
            "absence": absence,
        ]
    }
}

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
        let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
        try KillSwitch(settings.place).requireOuterRearmed()
        let triggers = try KillTriggers(settings, users: all ? nil : [settings.user], by: .both)
        let rearmed = try rearm(triggers)
        stores.reloadFlags()
        let isRootRearmed = all ? try stores.rearmRoot() : false
        let person = NSUserName()
        let results = await jobOptions.run("re-arming", try all ? stores.users() : UserListing(users: [settings.user]))
        { user in
            try AdvisedUser(user).filling { try stores.withExisting(user) { try $0.rearm(by: person) } }
        }
        let report = RearmReport(
            triggers: triggers,
            rearmed: rearmed,
            isRootRearmed: isRootRearmed,
            results: results
        )
        try output.write(report.json) { report.text }
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

/// The result of re-arming the kill switch.
struct RearmReport {
    let triggers: KillTriggers
    let rearmed: KillTriggers.Rearmed
    /// Whether a kill of all users was recorded.
    let isRootRearmed: Bool
    /// Whether each user had been killed, or why the user could not be re-armed.
    let results: [UserResult<Bool>]

    private var failures: [(user: String, error: any Error)] { results.failures() }

    private var count: Int { results.count { (try? $0.result.get()) == true } }

    var status: ExitStatus {
        failures.first.map { ErrorReport($0.error, showsDetail: false).status } ?? .success
    }

    var text: String {
        var lines: [String] = []
        if rearmed.isFlagRearmed { lines.append("the flag \(triggers.flag) in \(triggers.file) is taken back") }
        if let removed = rearmed.removedSentinel { lines.append("the sentinel file \(removed) is removed") }
        if isRootRearmed { lines.append("the record of the kill for everybody is removed") }
        for (user, error) in failures {
            lines.append("\(user): NOT RE-ARMED: \(ErrorReport.message(of: error, for: user))")
        }
        let rest = results.count - count - failures.count
        lines.append("\(count) re-armed, \(rest) had not been killed, \(failures.count) failed, of \(results.count)")
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    var json: JSONObject {
        [
            "isFlagRearmed": rearmed.isFlagRearmed,
            "isSentinelRemoved": rearmed.removedSentinel != nil,
            "isRootRearmed": isRootRearmed,
            "users": results.map { $0.json("wasKilled") },
            "rearmed": count,
            "failed": failures.count,
        ]
    }
}

/// `habitstore flags kill`.
struct FlagsKillCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Pulls the kill switch, for everybody or for some users.",
        discussion: """
            For everybody, the sentinel file is created first, and then the flag is set. If the flag file cannot be \
            read or changed, the sentinel file alone kills, whatever --by says. For some users only the flag can do \
            it, and a file that cannot be changed is an error.

            The sentinel file is that of the root to which the flag file belongs. With --file this is the settings' \
            root if they name the file, or the file's folder if it has users' stores and the file has the default \
            name. For any other file only the flag is set, and a flag that cannot be set is an error.

            With the name of a store, these are the flag and the sentinel file of that store.
            Exit codes: 0 it is pulled for the users that the report counts, or for the readers of the file; 74 it \
            reaches no user, or a named user has no stores.
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: KillOptions

    /// The users whom a kill reaches.
    private struct Reach {
        /// The number of users; nil if it is unknown which roots read the flag file.
        var users: Int?
        /// Why it does not reach some users, one line each.
        var problems: [String] = []
    }

    func run() async throws {
        let (settings, triggers) = try await options.triggers()
        let pulled = try triggers.pull()
        let reach = reach(settings, triggers)
        try report(triggers, pulled, reach)
        if !reach.problems.isEmpty { throw ExitCode(ExitStatus.inputOutput.rawValue) }
    }

    /// The users whom the triggers reach. The triggers are already pulled: a failure here prevents no kill.
    private func reach(_ settings: Settings?, _ triggers: KillTriggers) -> Reach {
        guard let settings else { return Reach() }
        do {
            guard let named = triggers.users else { return try reachOfAll(settings) }
            let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
            let missing = named.filter { user in
                do { try stores.requireUser(user) } catch let error as HabitStoreError {
                    return error.underlying is NoSuchUser
                } catch {}
                return false
            }
            return Reach(
                users: named.count - missing.count,
                problems: missing.map { "\($0): this user has no stores under \(settings.root)" }
            )
        } catch {
            return Reach(problems: ["cannot determine which users it reaches: \(ErrorReport.message(of: error))"])
        }
    }

    private func reachOfAll(_ settings: Settings) throws -> Reach {
        let (stores, failure) = settings.ofAllStores()
        if let failure { throw failure }
        let count = try stores.reduce(0) { count, place in
            let listing = try place.stores(otherVersions: .asWrittenByAnyApp).users()
            return count + listing.users.count + listing.unknown.count
        }
        guard count == 0 else { return Reach(users: count) }
        let absence = settings.absence() ?? "no user has stores under \(settings.root)"
        return Reach(users: 0, problems: ["\(absence); the kill applies to users who are added later"])
    }

    private func report(_ triggers: KillTriggers, _ pulled: KillTriggers.Pulled, _ reach: Reach) throws {
        try output.write([
            "flag": pulled.isFlagSet ? triggers.flag : nil,
            "flagFile": triggers.file,
            "flagError": pulled.flagFailure?.description,
            "sentinel": triggers.presentSentinel,
            "users": triggers.users,
            "reached": reach.users,
            "problems": reach.problems,
        ]) {
            var lines = ["killed for \(triggers.whom)"]
            if pulled.isFlagSet { lines.append("  by the flag \(triggers.flag) in \(triggers.file)") }
            if let sentinel = triggers.presentSentinel { lines.append("  by the sentinel file \(sentinel)") }
            if let users = reach.users, users > 0 {
                lines.append("  it reaches \(users.counted("user")) with stores here")
            } else if reach.problems.isEmpty {
                lines.append(
                    "  it reaches the users of the programs that read this file; its root is unknown"
                )
            }
            return (lines + reach.problems).map { TerminalText.escaped($0) + "\n" }.joined()
        }
    }
}

/// `habitstore flags rearm`.
struct FlagsRearmCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rearm",
        abstract: "Undoes flags kill, for everybody or for some users.",
        discussion: """
            The flag is taken back first, and then the sentinel file is removed. If the flag file cannot be changed, \
            the sentinel file stays, and so does the kill. With the name of a store, these are the flag and the \
            sentinel file of that store; without it, those of the root.
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: KillOptions

    func run() async throws {
        let triggers = try await options.triggers().triggers
        let (flag, path) = (triggers.flag, triggers.file)
        let rearmed = try triggers.rearm()
        let left = triggers.sentinel.flatMap { $0.isPresent ? $0.path : nil }
        try output.write([
            "isFlagRearmed": rearmed.isFlagRearmed,
            "isSentinelRemoved": rearmed.removedSentinel != nil,
            "flag": flag,
            "flagFile": path,
            "isSentinelPresent": left != nil,
            "sentinel": triggers.sentinel?.path,
        ]) {
            var lines: [String] = []
            if rearmed.isFlagRearmed { lines.append("the flag \(flag) in \(path) is taken back") }
            if let removed = rearmed.removedSentinel { lines.append("the sentinel file \(removed) is removed") }
            if lines.isEmpty { lines.append("nothing was pulled") }
            if let left { lines.append("the sentinel file \(left) is still there, and kills") }
            return lines.map { TerminalText.escaped($0) + "\n" }.joined()
        }
    }
}
