import ArgumentParser
import HabitStore
import HabitStoreRollout
import JSONText

/// `habitstore rollout advance`.
struct RolloutAdvanceCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "advance",
        abstract: "Moves a user, or all, towards the stage that the flags want, as far as the gate allows.",
        discussion: """
            Users pass through each stage in order. Verifications and rehearsals that the gate asks for are made on \
            the way; shadow reads are not, because they come from the users. It can be stopped at any moment, and \
            continues when it is run again.
            Exit codes: 0 everybody is where the flags want, or they want nothing; 1 a user is not, because the gate \
            refuses or a percentage wants the user back; 65 what the flags want for a user cannot be determined; 65, \
            74 as everywhere, for the first user who could not be moved.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var jobOptions: JobOptions

    @Flag(help: "All users under the root.")
    var all = false

    @Option(help: "How long a user's new store may take to fill and catch up, in seconds.")
    var wait = 600.0

    func validate() throws {
        try userOptions.requireNoUser(with: all)
        guard wait >= 0, wait <= 86_400 else { throw ValidationError("--wait is 0 to 86400 seconds") }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let wait = wait
        let results: [UserResult<PromotionReport>]
        if all {
            results = await jobOptions.run("advancing", try stores.users()) { user in
                try stores.withExisting(user) { try Self.advance($0, wait) { _, _, _ in } }
            }
        } else {
            let bar = ProgressBar(isQuiet: jobOptions.quiet)
            let report = try stores.withOnly(settings.user) { store in
                defer { bar.clear() }
                return try Self.advance(store, wait) { bar.show($0, $1, $2) }
            }
            results = [UserResult(user: settings.user, result: .success(report))]
        }
        let report = AdvanceReport(results)
        try output.write(report.json) { report.text(Terminal.options(), hasSummary: all) }
        if report.status != .success { throw ExitCode(report.status.rawValue) }
    }

    private static func advance(
        _ store: UserStore,
        _ waitSeconds: Double,
        _ progress: (String, Int, Int) -> Void
    ) throws -> PromotionReport {
        let from = try store.stage()
        let decision = try store.advance(waitSeconds: waitSeconds, progress: progress)
        return try PromotionReport(store, from: from, decision)
    }
}

/// The result of moving users forward.
struct AdvanceReport {
    private let reports: [PromotionReport]
    private let failures: [(user: String, error: any Error)]

    init(_ results: [UserResult<PromotionReport>]) {
        reports = results.compactMap { try? $0.result.get() }
        failures = results.compactMap { result in
            guard case .failure(let error) = result.result else { return nil }
            return (result.user, error)
        }
    }

    var status: ExitStatus {
        if let failure = failures.first { return ErrorReport(failure.error, showsDetail: false).status }
        if reports.contains(where: { $0.flagFailure != nil }) { return .data }
        return reports.contains(where: \.isRefused) ? .different : .success
    }

    /// A line for each user who moved, was kept back or failed, and for many users a summary.
    func text(_ options: TerminalOptions, hasSummary: Bool) -> String {
        let told = hasSummary ? reports.filter { $0.from != $0.to || $0.isRefused } : reports
        var text = told.map(\.text).joined()
        for (user, error) in failures {
            text += TerminalText.escaped("\(user): FAILED: \(ErrorReport.message(of: error, for: user))") + "\n"
        }
        guard hasSummary else { return text }
        // Mostly one reason for all users, printed once.
        let unread = Dictionary(grouping: reports.compactMap(\.flagFailure), by: \.self).sorted { $0.key < $1.key }
        for (reason, users) in unread {
            let line =
                "\(users.count) of \((reports.count + failures.count).counted("user")) could not be moved by the flags: \(reason)"
            text += TerminalText.escaped(line) + "\n"
        }
        var table = TextTable([
            .init("stage"), .init("users", alignment: .right), .init("kept back", alignment: .right),
        ])
        for stage in Stage.allCases {
            let here = reports.filter { $0.to == stage }
            table.append([stage.rawValue, String(here.count), String(here.count(where: \.isRefused))])
        }
        let moved = reports.count { $0.from != $0.to }
        let last =
            "\(moved) moved, \(reports.count(where: \.isRefused)) not where the flags want, \(failures.count) failed, "
            + "of \(reports.count + failures.count)\n"
        return text + (text.isEmpty ? "" : "\n") + table.text(options) + "\n" + last
    }

    /// The result as JSON.
    var json: JSONObject {
        [
            "users": reports,
            "failures": failures.map { ["user": $0.user, "message": ErrorReport.message(of: $0.error, for: $0.user)] },
            "moved": reports.count { $0.from != $0.to },
            "keptBack": reports.count(where: \.isRefused),
        ]
    }
}

/// `habitstore rollout promote`.
struct RolloutPromoteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Moves a user one stage forward, if the gate is open.",
        discussion: """
            Exit code 1 means that the gate refused; every reason is printed and recorded in the user's evidence. \
            Nothing is verified or rehearsed on the way: `rollout advance` does that.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The stage to go to. [default: the next one]")
    var to: Stage?

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let report = try stores.withOnly(settings.user) { store in
            let from = try store.stage()
            if let to, to < from {
                throw HabitStoreError(
                    .unsupported,
                    "the user is at \(from.rawValue), and \(to.rawValue) is an earlier stage: "
                        + "`\(Tool.name) rollout demote --user U --to \(to.rawValue)` goes there"
                )
            }
            let decision = try store.promote(to: to)
            return try PromotionReport(store, from: from, decision)
        }
        try output.write(report) { report.text }
        if report.isRefused { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// The gate's answer to a user's promotion, or to the last step of an advance.
struct PromotionReport: Encodable {
    let user: String
    /// The user's stage before.
    let from: Stage
    /// The user's stage now.
    let to: Stage
    /// The stage that the flags want; nil if they want none.
    let wanted: Stage?
    /// Why the wanted stage is unknown; nil if the flags say it, or there are none.
    let flagFailure: String?
    let reasons: [GateReason]
    /// The reasons in words.
    let sentences: [String]
    let cleanShadowReads: Int
    let upperBound: Double?

    /// Why the mirror does not follow, if the gate refused; nil if no reason is known.
    let mirrorFailure: String?

    init(_ store: UserStore, from: Stage, _ decision: GateDecision?) throws {
        user = store.user
        self.from = from
        to = try store.stage()
        (wanted, flagFailure) = (store.wantedStage, store.flagFailure)
        let isRefused = decision.map { !$0.isOpen } ?? false
        reasons = isRefused ? decision?.reasons ?? [] : []
        sentences = reasons.map { $0.sentence(user: AdvisedUser(store.user).words) }
        cleanShadowReads = decision?.cleanShadowReads ?? 0
        upperBound = decision?.upperBound
        if isRefused, case .lagging(_, let error) = store.mirrorStatus {
            mirrorFailure = error.description
        } else {
            mirrorFailure = nil
        }
    }

    var isRefused: Bool { !reasons.isEmpty }
    /// Whether the flags want the user to move forward, not back.
    private var isTakenForward: Bool { wanted.map { $0 >= to } ?? true }

    /// The result, followed by every reason why the user did not get further.
    var text: String {
        var text = from == to ? "\(user): stays at \(to.rawValue)\n" : "\(user): \(from.rawValue) → \(to.rawValue)\n"
        if isRefused {
            let words = [isTakenForward ? "refused" : nil, wanted.map { "\($0.rawValue) is wanted" }]
            text += "  \(words.compactMap { $0 }.joined(separator: ", ")):\n"
            for sentence in sentences { text += "  - \(sentence)\n" }
            if let mirrorFailure { text += "  the mirror cannot follow: \(mirrorFailure)\n" }
        }
        return text.split(separator: "\n").map { TerminalText.escaped(String($0)) + "\n" }.joined()
    }
}

/// `habitstore rollout demote`.
struct RolloutDemoteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "demote",
        abstract: "Moves a user to an earlier stage. This needs no evidence.",
        discussion: """
            No acknowledged write is lost: the store that will serve first catches up with everything that the other \
            one holds, and if that fails the user stays.

            While the flags want a later stage, the next `rollout advance` moves the user forward again, as far as the \
            gate allows.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The stage to go to. [default: the one before]")
    var to: Stage?

    @Option(help: ArgumentHelp("Why, for the evidence.", valueName: "text"))
    var because: String?

    func validate() throws {
        guard because?.allSatisfy(\.isWhitespace) != true else {
            throw ValidationError("--because is empty; say why the user is taken back")
        }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let (from, there, wanted, engine, token) = try stores.withOnly(settings.user) { store in
            let from = try store.stage()
            try store.demote(to: to, because: because)
            return (from, try store.stage(), store.wantedStage, try store.engine(), try store.currentToken())
        }
        if let wanted, wanted > there {
            StandardError.note("the flags still want \(wanted.rawValue): the next advance moves the user there again")
        }
        switch output.format {
        case .json:
            try JSON.write([
                "user": settings.user,
                "from": from.rawValue,
                "to": there.rawValue,
                "wanted": wanted?.rawValue,
                "engine": engine.rawValue,
                "token": token.rawValue,
            ])
        case .text:
            let line = "\(settings.user): \(from.rawValue) → \(there.rawValue)"
            try Output.write(TerminalText.escaped(line) + "\n")
            StandardError.note("nothing is given up: the \(engine.rawValue) store serves, at token \(token)")
        }
    }
}
