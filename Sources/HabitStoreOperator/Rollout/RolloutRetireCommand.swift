import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout
import JSONText
import ShadowVerifier

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

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var jobOptions: JobOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "All users with a folder under the root.")
    var all = false

    @Option(help: ArgumentHelp("The users of a wave of the fleet, by its name or its number.", valueName: "name"))
    var wave: String?

    @Flag(
        help: "Only report whose store can be read and could be removed, and why the others are kept; compare nothing."
    )
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "A backup of the store that the user has left, made since, to verify if that cannot be read: \(Tool.storeForms), or a path.",
            valueName: "store"
        )
    )
    var against: String?

    func validate() throws {
        let isForUser = userOptions.user != nil
        guard [all, isForUser, wave != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("say whose store is removed, with --user, --wave or --all, and only one of these")
        }
        guard isForUser || against == nil else {
            throw ValidationError("--against is a backup of one user; give --user")
        }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let backup = try against.map { try StoreAddress(argument: $0) }
        let isDry = dryRun
        let fleet = Fleet(root: settings.root)
        let part = try wave.map { try fleet.wave($0) }
        let listing = all ? try stores.users() : UserListing(users: part?.users ?? [settings.user])
        let results = await jobOptions.run(isDry ? "asking" : "retiring", listing) { user in
            if isDry { return try stores.retirement(of: user, hasBackup: backup != nil) }
            return try stores.withExisting(user) { try $0.retire(against: backup, by: NSUserName()) }
        }
        let report = RetirementReport(results, isDry: isDry)
        if let part, !isDry {
            let kept = part.users.count - report.removed - report.before
            try fleet.noteRetired(wave: part.number, users: report.removed, failed: kept)
        }
        try output.write(report.json) { report.text(hasSummary: all || part != nil) }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }
}

/// The result of retiring the stores that users had left.
struct RetirementReport {
    private let results: [UserResult<RetirementOutcome>]
    private let isDry: Bool

    init(_ results: [UserResult<RetirementOutcome>], isDry: Bool) { (self.results, self.isDry) = (results, isDry) }

    private var outcomes: [RetirementOutcome] { results.compactMap { try? $0.result.get() } }

    /// How many stores were removed.
    var removed: Int { outcomes.count(where: \.isRemoved) }

    /// How many stores had already been removed.
    var before: Int { outcomes.count(where: \.wasRemovedBefore) }

    var status: ExitStatus {
        if let failure = results.failures().first { return ErrorReport(failure.error, showsDetail: false).status }
        return outcomes.allSatisfy(\.decision.isOpen) ? .success : .different
    }

    /// A line for each user, with what is left next to the store and why a store was kept.
    func text(hasSummary: Bool) -> String {
        var text = results.map(text).joined()
        if hasSummary {
            let (open, kept) = (outcomes.count(where: \.decision.isOpen), outcomes.count { !$0.decision.isOpen })
            let failed = results.count - outcomes.count
            let before = before > 0 ? "\(before) removed before, " : ""
            text +=
                "\(open - self.before) \(isDry ? "could be " : "")removed, \(before)\(kept) kept, \(failed) failed, of \(results.count)\n"
        }
        return text
    }

    private func text(_ result: UserResult<RetirementOutcome>) -> String {
        var lines: [String]
        switch result.result {
        case .failure(let error):
            lines = ["\(result.user): FAILED: \(ErrorReport.message(of: error, for: result.user))"]
        case .success(let outcome):
            let word =
                outcome.isRemoved
                ? "is removed"
                : outcome.wasRemovedBefore
                    ? "was removed before" : outcome.decision.isOpen ? "could be removed" : "is kept"
            let isKept = outcome.isThere || outcome.wasRemovedBefore
            lines = [
                isKept
                    ? "\(result.user): the \(outcome.engine.rawValue) store \(word): \(outcome.place)"
                    : "\(result.user): nothing is removed; the user has no \(outcome.engine.rawValue) store"
            ]
            let user = AdvisedUser(result.user).words
            lines += outcome.decision.reasons.map { "  - \($0.sentence(user: user))" }
            if !outcome.leftBeside.isEmpty {
                lines.append("  left next to it, remove by hand: \(outcome.leftBeside.joined(separator: ", "))")
            }
        }
        return lines.map { TerminalText.escaped($0) + "\n" }.joined()
    }

    /// The result as JSON.
    var json: JSONObject {
        [
            "isDryRun": isDry,
            "users": results.map { result in
                let outcome = try? result.result.get()
                let user = AdvisedUser(result.user)
                let fields: JSONObject = [
                    "user": result.user,
                    "engine": outcome?.engine.rawValue,
                    "place": outcome?.place,
                    "isRemoved": outcome?.isRemoved ?? false,
                    "wasRemovedBefore": outcome?.wasRemovedBefore ?? false,
                    "reasons": outcome?.decision.reasons ?? [],
                    "sentences": outcome?.decision.reasons.map { $0.sentence(user: user.words) } ?? [],
                    "leftBeside": outcome?.leftBeside ?? [],
                    "error": [result].failures().first.map { ErrorReport.message(of: $0.error, for: $0.user) },
                ]
                return fields.omittingNil
            },
        ]
    }
}

/// `habitstore rollout accept`.
struct RolloutAcceptCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Accepts one of a user's stores as the current one, unchanged.",
        discussion: """
            A store that was put back from a backup, or swapped, is not served: it is older than what was \
            acknowledged. If nothing newer is left, this accepts it, and gives up what was written since that backup. \
            The other store is set aside next to it and never deleted, and the user's evidence records who accepted it \
            and why. --dry-run reports what would be given up, and changes nothing.

            Refused, with exit code 65, if another store of the user's is sound and serves, or would at the next \
            opening, and holds more: `rollout demote` takes the user back without a loss. Also refused if a store has \
            a schema that this program does not have, because a program that cannot open a store decides nothing about \
            it.

            A user with one store on a server and one in files belongs to the machine that has the files. Only if that \
            machine is lost for good should another one accept the store on the server: what never reached the server \
            is given up.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "Which of the user's stores, by its engine.")
    var engine: EngineName

    @Option(help: ArgumentHelp("Why, for the evidence.", valueName: "text"))
    var because: String

    @Flag(help: "Accept a store of a user who belongs to another machine, which is lost for good.")
    var otherMachineIsLost = false

    @Flag(help: "Change nothing; report what would be given up.")
    var dryRun = false

    func validate() throws {
        guard !because.trimmingCharacters(in: .whitespaces).isEmpty else {
            throw ValidationError("--because is empty; say why the store is accepted")
        }
        guard userOptions.user != nil else { throw ValidationError("say whose store is accepted, with --user") }
    }

    func run() async throws {
        let settings = try await Settings(userOptions)
        let lines = try settings.stores(otherVersions: .asWrittenByAnyApp)
            .adopt(
                engine,
                for: settings.user,
                by: NSUserName(),
                because: because,
                isOtherMachineLost: otherMachineIsLost,
                isDry: dryRun
            )
        try output.write(["user": settings.user, "done": lines]) {
            lines.map { TerminalText.escaped($0) + "\n" }.joined()
        }
    }
}

/// `habitstore rollout resync`.
struct RolloutResyncCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "resync",
        abstract: "Rebuilds the following store from the serving one, and verifies both.",
        discussion: """
            This repairs a user whose stores differ, if the serving store is right. If it is not, take the user back first (`rollout demote`). \
            If the serving store is itself damaged, nothing is changed. The other store is set aside next to the new copy and never deleted. \
            The user's evidence records who did it and why, and the verification.

            At live and rampdown the user's writes wait for the copy, and so does a kill.

            Exit code 1 means that the stores still differ.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("Why, for the evidence.", valueName: "text"))
    var because: String

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        guard because.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("--because is empty; say why the store is rebuilt")
        }
        guard userOptions.user != nil else {
            throw ValidationError("say whose store is rebuilt, with --user")
        }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let bar = ProgressBar(isQuiet: quiet)
        let outcome = try stores.withOnly(settings.user) { store in
            defer { bar.clear() }
            return try store.resync(by: NSUserName(), because: because) { bar.show($0, $1, $2) }
        }
        let document: JSONObject = [
            "user": settings.user, "engine": outcome.engine, "source": outcome.source, "aside": outcome.aside,
            "records": outcome.records, "verification": outcome.report,
        ]
        try output.write(document.omittingNil) {
            let (engine, source) = (outcome.engine.rawValue, outcome.source.rawValue)
            let records = FleetOverview.counted(outcome.records, "record")
            var lines = ["\(settings.user): the \(engine) store was rebuilt from the \(source) store, \(records)"]
            if let aside = outcome.aside { lines.append("the store that was there is \(aside) now") }
            let text = lines.map { TerminalText.escaped($0) + "\n" }.joined()
            let isDifferent = outcome.report.openDifferenceCount > 0
            let help = isDifferent ? RolloutNotes.help(against: .verificationNotClean) : ""
            return text + VerificationText(outcome.report, options: Terminal.options()).text + help
        }
        try ExitStatus.end(with: outcome.report)
    }
}
