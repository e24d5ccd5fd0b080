import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import JSONText

/// `habitstore rollout status`.
struct RolloutStatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows users' stages, stores and evidence. Changes nothing.",
        discussion: """
            All users, or with --user one. A store that cannot be read is named in the user's row and makes the exit \
            code 65 or 74, after all rows; so does a folder that belongs to no known user. Damaged evidence, or stores \
            that were found to differ, make it 1. If the root is missing it is 74.

            With --watch it checks for moves and kills ten times a second; for tokens, evidence, flag files, the \
            gate's policy and new or removed users once a second; and for everything else every ten seconds. Between \
            two checks nothing is open or locked.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions
    @OptionGroup var watching: WatchOptions

    @Flag(help: "All users under the root. This is the default.")
    var all = false

    var isFollowing: Bool { watching.watch }

    func validate() throws {
        try userOptions.requireNoUser(with: all)
    }

    func run() async throws {
        var looks = StatusPolls(userOptions, options, jobOptions)
        try await looks.lookAtAll()
        guard watching.watch else { return try answerOnce(looks) }
        var shown = ShownAnswers()
        while true {
            let report = try report(looks)
            try shown.show(report.answer, notes: report.notes, errors: report.errors)
            repeat {
                try await Task.sleep(for: looks.pause)
                try Output.requireReader()
            } while try await !looks.lookAgain()
        }
    }

    private func answerOnce(_ looks: StatusPolls) throws {
        guard FileManager.default.fileExists(atPath: looks.folder) else {
            throw HabitStoreError(
                .notFound,
                "there is no folder with users' stores here; name another one with --root or --store-name",
                at: .init(path: looks.folder)
            )
        }
        let report = try report(looks)
        StandardError.write(report.notes)
        try Output.write(try report.answer.text(asLine: false))
        StandardError.write(report.errors)
        let failure = looks.failures.first ?? looks.statuses.lazy.compactMap(\.problems.first).first?.error
        if let failure { throw ExitCode(ErrorReport(failure, showsDetail: false).status.rawValue) }
        if looks.statuses.contains(where: { !$0.evidence.isIntact || $0.evidence.openDifference != nil }) {
            throw ExitCode(ExitStatus.different.rawValue)
        }
    }

    private func report(_ looks: StatusPolls) throws -> (answer: Answer, notes: String, errors: String) {
        let (statuses, failures) = (looks.statuses, looks.failures)
        let errors = failures.map { ErrorReport($0, showsDetail: output.verbose).text }.joined()
        guard output.format == .text else { return (.document(RolloutStatusReport.json(statuses)), "", errors) }
        let notes = Set(statuses.flatMap { status in status.notes.map(AdvisedUser(status.user).filled) }).sorted().map(
            StandardError.line(ofNote:)
        ).joined()
        guard !statuses.isEmpty || failures.isEmpty else { return (.text(""), notes, errors) }
        let text = RolloutStatusReport(
            statuses,
            root: looks.folder,
            options: Terminal.options(),
            timeZone: looks.timeZone
        ).text
        return (.text(text), notes, errors)
    }
}

/// Examines users repeatedly: those whose files have changed, which needs no open store, and occasionally all.
struct StatusPolls {
    /// How often control files are read.
    private static let pollSeconds = 0.1
    /// How often to read all files that show a change without opening a store.
    private static let signsSeconds = 1.0
    /// How often to examine all users: some changes by other programs show only in the store.
    private static let fullSeconds = 10.0
    /// The shortest pause until the next look of the same kind, as a multiple of the last look's duration.
    private static let rest = 4

    private let userOptions: UserOptions
    private let options: PolicyOptions
    private var jobs: JobOptions
    private var stores: UserStores?
    private var listing = UserListing(users: [])
    private var root: RootSigns?
    private var signs: [UserKey: UserSigns] = [:]
    private var found: [UserKey: Result<UserStatus, any Error>] = [:]
    private(set) var timeZone = TimeZone.current
    /// The folder of the users' folders.
    private(set) var folder = ""
    private var signsAreDue = ContinuousClock.now
    private var fullIsDue = ContinuousClock.now
    /// How long to wait before the next look.
    private(set) var pause = Duration.seconds(pollSeconds)

    init(_ userOptions: UserOptions, _ options: PolicyOptions, _ jobs: JobOptions) {
        (self.userOptions, self.options, self.jobs) = (userOptions, options, jobs)
    }

    /// The status of the users who could be examined.
    var statuses: [UserStatus] { listing.users.compactMap { try? found[UserKey($0)]?.get() } }

    /// Why the others could not be examined, and the folders whose users are unknown.
    var failures: [any Error] {
        listing.users.compactMap { user in
            guard case .failure(let error) = found[UserKey(user)] else { return nil }
            return error
        } + listing.unknown
    }

    /// Examines all users.
    ///
    /// - Throws: an error in the settings, the policy or the root, or if a named user does not exist.
    mutating func lookAtAll() async throws {
        let start = ContinuousClock.now
        let settings = try await readSettings()
        if userOptions.user != nil { try stores?.requireUser(settings.user) }
        await look(at: listing.users)
        // Show progress only for the first look, which a person waits for.
        jobs.quiet = true
        plan(since: start, isFull: true)
    }

    /// Examines the users who may have changed.
    ///
    /// - Returns: whether there were any.
    mutating func lookAgain() async throws -> Bool {
        let start = ContinuousClock.now
        let (isFull, readsAll) = (start >= fullIsDue, start >= signsAreDue)
        let (before, known) = (root, listing)
        if isFull || readsAll { try await readSettings() }
        let isForAll = isFull || root != before
        let concerned = listing.users.filter { user in
            guard !isForAll, let last = signs[UserKey(user)], let now = try? stores?.signs(of: user) else {
                return true
            }
            return readsAll ? now != last : now.place != last.place
        }
        await look(at: concerned)
        if isFull || readsAll { plan(since: start, isFull: isFull) }
        pause = max(.seconds(Self.pollSeconds), ContinuousClock.now - start)
        return !concerned.isEmpty || listing.users != known.users
            || listing.unknown.map(\.description) != known.unknown.map(\.description)
    }

    /// Reads what is common to all users: settings, flag files, and the list of users.
    @discardableResult
    private mutating func readSettings() async throws -> Settings {
        let (settings, stores) = try await options.stores(of: userOptions, otherVersions: .asWrittenByAnyApp)
        listing = try userOptions.user.map { UserListing(users: [$0]) } ?? stores.users()
        (self.stores, root, timeZone, folder) = (stores, stores.signs, settings.timeZone, settings.root)
        return settings
    }

    private mutating func look(at users: [String]) async {
        guard let stores else { return }
        // Signs before stores: the next look notices a change in between.
        for user in users { signs[UserKey(user)] = try? stores.signs(of: user) }
        for result in await jobs.run("looking", users, { try stores.status(of: $0) }) {
            found[UserKey(result.user)] = result.result
        }
    }

    private mutating func plan(since start: ContinuousClock.Instant, isFull: Bool) {
        let now = ContinuousClock.now
        signsAreDue = now + max(.seconds(Self.signsSeconds), (now - start) * Self.rest)
        if isFull { fullIsDue = now + max(.seconds(Self.fullSeconds), (now - start) * Self.rest) }
    }
}

/// Users' status as a table and a summary.
struct RolloutStatusReport {
    private let statuses: [UserStatus]
    private let root: String
    private let options: TerminalOptions
    private let timeZone: TimeZone

    /// - Parameter root: the folder that was searched for users.
    init(_ statuses: [UserStatus], root: String, options: TerminalOptions, timeZone: TimeZone) {
        (self.statuses, self.root) = (statuses, root)
        self.options = options
        self.timeZone = timeZone
    }

    /// The table, and the number of users at each stage.
    var text: String {
        guard !statuses.isEmpty else { return TerminalText.escaped("no user has stores under \(root)") + "\n" }
        var table = TextTable([
            .init("user", maximumWidth: 60), .init("stage", canShrink: false), .init("wanted", canShrink: false),
            .init("engine"),
            .init("token", alignment: .right), .init("mirror"), .init("evidence", alignment: .right),
            .init("clean reads", alignment: .right), .init("rate below", alignment: .right),
            .init("verified"), .init("rehearsed"), .init("last difference"), .init("remark"),
        ])
        for status in statuses { table.append(row(status)) }
        return table.text(options) + "\n" + summary
    }

    private func row(_ status: UserStatus) -> [String] {
        [
            status.user,
            (status.stage?.rawValue ?? "?") + (status.movingTo.map { " → \($0.rawValue)" } ?? ""),
            status.wanted?.rawValue ?? "no change",
            status.engine?.rawValue ?? "?",
            status.token?.description ?? "?",
            status.mirror.text,
            status.evidence.isIntact ? "\(status.evidence.records) intact" : "DAMAGED",
            String(status.cleanShadowReads),
            status.next?.upperBound.map { Self.rate($0) } ?? "",
            Self.age(status.evidence.lastVerification),
            Self.age(status.evidence.lastRehearsal),
            status.evidence.lastDifference.map { ISODate.local($0.time, in: timeZone) + ", \($0.stage.rawValue)" }
                ?? "none",
            remark(status),
        ]
    }

    /// The age and result of a proof: `3 h ago, NOT CLEAN`.
    private static func age(_ proof: (time: Date, isClean: Bool)?) -> String {
        guard let proof else { return "never" }
        let seconds = max(0, Date().timeIntervalSince(proof.time))
        return "\(seconds.durationText) ago" + (proof.isClean ? "" : ", NOT CLEAN")
    }

    private func remark(_ status: UserStatus) -> String {
        var remarks: [String] = []
        if status.isKilled { remarks.append("killed") }
        if let trigger = status.killTrigger { remarks.append("the kill switch is pulled: \(trigger)") }
        remarks += status.problems.map { "\($0.place): \($0.error.description)" }
        if let damage = status.evidence.damage {
            remarks.append("evidence, line \(damage.line): \(damage.reason)")
        }
        if let open = status.evidence.openDifference { remarks.append("the stores DIFFER: \(open.message)") }
        if status.evidence.isCutOff { remarks.append("lines of the evidence are missing at its end") }
        if let stays = status.stays {
            remarks.append(stays.sentence(user: AdvisedUser(status.user).words))
        } else if !status.isKilled, !status.reasonsNotThere.isEmpty {
            remarks.append("waits: " + status.reasonsNotThere.map(\.kind).joined(separator: ", "))
        }
        return AdvisedUser(status.user).filled(remarks.joined(separator: "; "))
    }

    private var summary: String {
        var table = TextTable([
            .init("stage"), .init("users", alignment: .right), .init("wanted", alignment: .right),
            .init("killed", alignment: .right), .init("lagging", alignment: .right),
            .init("unreadable", alignment: .right),
        ])
        for stage in Stage.allCases {
            let here = statuses.filter { $0.stage == stage }
            table.append([
                stage.rawValue, String(here.count), String(statuses.count { $0.wanted == stage }),
                String(here.count(where: \.isKilled)), String(here.count { $0.mirror.isLagging }),
                String(here.count { !$0.problems.isEmpty }),
            ])
        }
        let unknown = statuses.filter { $0.stage == nil }
        if !unknown.isEmpty { table.append(["?", String(unknown.count), "", "", "", String(unknown.count)]) }
        return table.text(options)
    }

    /// A rate as `0.30 %`, rounded up: it is a bound.
    static func rate(_ bound: Double) -> String { String(format: "%.2f %%", (bound * 10_000).rounded(.up) / 100) }
}

extension UserStatus.Mirror {
    /// The mirror's state in one or two words.
    var text: String {
        switch self {
        case .none: "none"
        case .notFilled: "not filled"
        case .parted: "parted"
        case .behind(0): "current"
        case .behind(let count): "\(count) behind"
        case .unknown: "unknown"
        }
    }

    /// Whether it is known to lack transactions.
    var isLagging: Bool {
        switch self {
        case .none, .unknown, .behind(0): false
        case .notFilled, .parted, .behind: true
        }
    }
}

extension RolloutStatusReport {
    /// All users' status as JSON.
    static func json(_ statuses: [UserStatus]) -> JSONObject {
        let stages = Stage.allCases.map { stage in
            let here = statuses.filter { $0.stage == stage }
            return [
                "stage": stage.rawValue,
                "users": here.count,
                "wanted": statuses.count { $0.wanted == stage },
                "killed": here.count(where: \.isKilled),
                "lagging": here.count { $0.mirror.isLagging },
                "unreadable": here.count { !$0.problems.isEmpty },
            ] as JSONObject
        }
        return ["users": statuses.map(json), "stages": stages, "unknown": statuses.count { $0.stage == nil }]
    }

    /// A user's status as JSON.
    static func json(_ status: UserStatus) -> JSONObject {
        let advised = AdvisedUser(status.user)
        return [
            "user": status.user,
            "stage": status.stage?.rawValue,
            "movingTo": status.movingTo?.rawValue,
            "wantedStage": status.wanted?.rawValue,
            "reason": status.whyNotThere(user: advised.words).map(advised.filled),
            "engine": status.engine?.rawValue,
            "token": status.token?.rawValue,
            "epoch": status.epoch,
            "isKilled": status.isKilled,
            "killTrigger": status.killTrigger,
            "mirror": status.mirror.text,
            "lag": lag(status.mirror),
            "evidence": evidence(status),
            "nextStage": next(status),
            "notes": status.notes.map(advised.filled),
            "problems": status.problems.map {
                ["place": $0.place, "code": $0.error.code.rawValue, "message": advised.filled($0.error.description)]
                    as JSONObject
            },
        ]
    }

    private static func lag(_ mirror: UserStatus.Mirror) -> Int? {
        guard case .behind(let count) = mirror else { return nil }
        return count
    }

    private static func evidence(_ status: UserStatus) -> JSONObject {
        func json(_ difference: UserStatus.Difference?) -> JSONObject? {
            guard let difference else { return nil }
            var found: JSONObject = ["stage": difference.stage.rawValue, "message": difference.message]
            found.set("time", difference.time)
            return found
        }
        func json(_ proof: (time: Date, isClean: Bool)?) -> JSONObject? {
            guard let proof else { return nil }
            var found: JSONObject = ["isClean": proof.isClean]
            found.set("time", proof.time)
            return found
        }
        return [
            "records": status.evidence.records,
            "isIntact": status.evidence.isIntact,
            "isCutOff": status.evidence.isCutOff,
            "damage": status.evidence.damage.map { ["line": $0.line, "reason": $0.reason] as JSONObject },
            "cleanShadowReads": status.cleanShadowReads,
            "upperBound": status.next?.upperBound,
            "lastDifference": json(status.evidence.lastDifference),
            "openDifference": json(status.evidence.openDifference),
            "lastVerification": json(status.evidence.lastVerification),
            "lastRehearsal": json(status.evidence.lastRehearsal),
        ]
    }

    private static func next(_ status: UserStatus) -> JSONObject? {
        guard let decision = status.next, let stage = status.stage?.next else { return nil }
        return [
            "stage": stage.rawValue, "isOpen": decision.isOpen,
            "reasons": decision.reasons.map { $0.sentence(user: AdvisedUser(status.user).words) },
        ]
    }
}

/// `habitstore rollout`.
struct RolloutGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollout",
        abstract: "Moves users from the old store to the new one, stage by stage, and back.",
        discussion: """
            The stages are off, dualwrite, shadow, live, rampdown, complete. The flag file says which one is wanted. \
            Users move forward one stage at a time, through the gate; the way back needs no proof.
            """,
        subcommands: [
            RolloutStatusCommand.self, RolloutAdvanceCommand.self, RolloutPromoteCommand.self,
            RolloutDemoteCommand.self, RolloutVerifyCommand.self, RolloutRehearseCommand.self,
            RolloutEvidenceCommand.self, RolloutKillCommand.self, RolloutRearmCommand.self,
            RolloutDoctorCommand.self, RolloutResyncCommand.self, RolloutAcceptCommand.self, RolloutRetireCommand.self,
            RolloutRunbookCommand.self,
        ]
    )
}
