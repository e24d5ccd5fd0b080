import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreMetrics
import HabitStoreRollout
import JSONText

/// `habitstore fleet status`.
struct FleetStatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows what the fleet is doing, what it waits for, and where users are, from its index."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let settings = try await Settings(userOptions)
        let status = try Fleet(root: settings.root).status()
        let report = FleetStatusReport(status: status)
        try output.write(report.json) { report.text(Terminal.options()) }
        if status.damagedLine != nil || !status.different.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// `habitstore fleet who`.
struct FleetWhoCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "who",
        abstract: "Prints the id of a user that the fleet's page shows under a name.",
        discussion: """
            The page shows users by a hash, so that its readers do not learn their ids. For operators who may read the \
            fleet's files, --user "$(… fleet who NAME)" fills in the id in a command from the page.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name that the page shows.")
    var name: String

    func run() async throws {
        let user = try Fleet(root: try await Settings(userOptions).root).user(named: name)
        try output.write(["name": name, "user": user]) { TerminalText.escaped(user) + "\n" }
    }
}

/// `habitstore fleet report`.
struct FleetReportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Lists the fleet's ledger, and checks that it is unchanged."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let settings = try await Settings(userOptions)
        let contents = try Fleet(root: settings.root).readLedger()
        let document: JSONObject = ["entries": contents.entries, "damagedLine": contents.damagedLine]
        try output.write(document.omittingNil) {
            var table = TextTable([.init("time"), .init("what"), .init("details")])
            for entry in contents.entries {
                let (what, details) = entry.event.words
                table.append([ISODate.instant(entry.time), what, details])
            }
            let damage =
                contents.damagedLine.map { "DAMAGED in line \($0), or lines are missing from there on\n" }
                ?? "\(contents.entries.count.counted("line")), whole\n"
            return table.text(Terminal.options()) + damage
        }
        if contents.damagedLine != nil { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// `habitstore fleet audit`.
struct FleetAuditCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Compares the fleet's index with the stores, or rebuilds it from them."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "How many randomly chosen users to check. [default: all]")
    var sample: Int?

    @Option(help: "The seed that chooses the users. [default: random, and printed]")
    var seed: UInt64?

    @Flag(help: "Rebuild the index; no run may be at work.")
    var rebuild = false

    @Flag(help: "Also compare the two stores of users at stages that keep them equal, by their stored digests.")
    var compare = false

    @Flag(help: "Show no progress.")
    var quiet = false

    func validate() throws {
        if let sample, sample < 1 { throw ValidationError("--sample is 1 or more") }
        guard !rebuild || sample == nil && !compare else {
            throw ValidationError(
                "--rebuild reads all users and compares nothing; leave --sample and --compare out"
            )
        }
    }

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions, otherVersions: .asWrittenByAnyApp)
        let fleet = Fleet(root: settings.root)
        if rebuild {
            let bar = ProgressBar(isQuiet: quiet)
            defer { bar.clear() }
            let users = try fleet.rebuild(stores) { bar.show("looking", $0, $1) }
            bar.clear()
            return try show(
                ["users": users, "findings": [String]()],
                "the index was rebuilt: \(users.counted("user"))\n"
            )
        }
        let seed = seed ?? UInt64.random(in: 0...999_999)
        let audit = try fleet.audit(stores, sample: sample, seed: seed, comparesStores: compare)
        let found = audit.findings.map { (user: $0.user, message: AdvisedUser($0.user).filled($0.message)) }
        let lines = found.map { TerminalText.escaped("\($0.user): \($0.message)") + "\n" }.joined()
        let count = Set(found.map(\.user)).count
        let last =
            compare
            ? "\(count) of \(audit.users.counted("user")) \(audit.users == 1 ? "is" : "are") not as the index says, or have stores that differ, of \(audit.compared) who have two "
                + "(seed \(seed))\n"
            : "\(count) of \(audit.users.counted("user")) \(audit.users == 1 ? "is" : "are") not as the index says (seed \(seed))\n"
        let findings = found.map { ["user": $0.user, "message": $0.message] }
        try show(["users": audit.users, "seed": seed, "findings": findings], lines + last)
        if !found.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func show(_ report: JSONObject, _ text: String) throws {
        try output.write(report) { text }
    }
}

/// A fleet's status, as text and JSON.
struct FleetStatusReport {
    let status: FleetStatus

    var json: JSONObject {
        let document: JSONObject = [
            "state": status.state,
            "doing": doing,
            "halt": status.halt?.rawValue,
            "since": status.since,
            "waves": status.waves.map { wave in
                let stages = wave.stages.map { ($0.key.rawValue, $0.value) }
                return [
                    "name": wave.name, "state": wave.state, "users": wave.users,
                    "stages": Dictionary(uniqueKeysWithValues: stages),
                ] as JSONObject
            },
            "different": status.different.map { found in
                let user: JSONObject = [
                    "user": found.user, "wave": wave(of: found), "stage": found.stage?.rawValue, "since": found.since,
                    "message": message(of: found),
                ]
                return user.omittingNil
            },
            "waiting": status.waiting.map { ["reasons": $0.reasons, "users": $0.users] as JSONObject },
            "leastSecondsLeft": status.secondsLeft?.lowerBound,
            "mostSecondsLeft": status.secondsLeft?.upperBound,
            "damagedLine": status.damagedLine,
            "hooks": status.hooks,
            "hooksProblem": status.hooksProblem,
        ]
        return document.omittingNil
    }

    /// The fleet's current step; advice names the user who halted it.
    private var doing: String { AdvisedUser.filled(status.doing, about: status.haltedFor) }

    private func message(of found: FleetStatus.Different) -> String? {
        found.message.map(AdvisedUser(found.user).filled)
    }

    /// The name of a user's wave.
    private func wave(of found: FleetStatus.Different) -> String {
        status.waves.indices.contains(found.wave) ? status.waves[found.wave].name : "\(found.wave + 1)"
    }

    /// The state in a sentence, the users whose stores differ, the waves, and why users wait.
    func text(_ options: TerminalOptions) -> String {
        var text = TerminalText.escaped("\(status.state): \(doing)") + "\n" + differences
        let difference = Runbook.Halt.haltedByDifference.rawValue
        let halt = status.halt?.rawValue
        let kinds = [halt, status.different.isEmpty || halt == difference ? nil : difference].compactMap { $0 }
        for kind in kinds { text += RolloutNotes.help(kind) }
        if let left = status.secondsLeft {
            text +=
                "between \(left.lowerBound.durationText) and \(left.upperBound.durationText) are left at this pace\n"
        }
        var table = TextTable(
            [.init("wave"), .init("state"), .init("users", alignment: .right)]
                + Stage.allCases.map { .init($0.rawValue, alignment: .right) }
        )
        for wave in status.waves {
            let stages = Stage.allCases.map { String(wave.stages[$0] ?? 0) }
            table.append([wave.name, wave.state, String(wave.users)] + stages)
        }
        text += "\n" + table.text(options)
        if !status.waiting.isEmpty {
            text += "\nwhy users wait:\n"
            for reason in status.waiting {
                text += TerminalText.escaped("  \(reason.users) by \(reason.reasons)") + "\n"
            }
        }
        for trouble in status.hooks.compactMap(\.trouble) + [status.hooksProblem].compactMap({ $0 }) {
            text += "\n" + TerminalText.escaped(trouble) + "\n"
        }
        if let damagedLine = status.damagedLine {
            text += "\nthe ledger is DAMAGED in line \(damagedLine), or lines are missing from there on\n"
        }
        return text
    }
}

extension FleetStatusReport {
    /// The users whose stores differ, and what to do.
    private var differences: String {
        guard !status.different.isEmpty else { return "" }
        var text = "DIFFERENT: the stores of \(FleetOverview.counted(status.different.count, "user")) differ:\n"
        for found in status.different.prefix(Self.listedDifferent) {
            let since = found.since.map { ", since \(ISODate.instant($0))" } ?? ""
            let message = message(of: found).map { ": \($0)" } ?? ""
            text +=
                TerminalText.escaped(
                    "  \(found.user) (wave \(wave(of: found)), at \(found.stage?.rawValue ?? "?")\(since))\(message)"
                )
                + "\n"
        }
        let more = status.different.count - Self.listedDifferent
        if more > 0 { text += "  and \(more) more, which --format json lists\n" }
        return text
    }

    private static let listedDifferent = 100
}

/// `habitstore fleet metrics`.
struct FleetMetricsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Prints the fleet's metrics in Prometheus' text format, from its index.",
        discussion: """
            For the textfile collector of node_exporter: write them to a temporary file, and rename that into the \
            collector's folder. No user's store is opened.
            """
    )

    @OptionGroup var userOptions: UserOptions

    func run() async throws {
        let fleet = Fleet(try await Settings(userOptions).place)
        try Output.write(MetricFamily.text(try fleet.metrics()))
    }
}

/// `habitstore fleet hooks`.
struct FleetHooksCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "hooks",
        abstract: "Lists how far each hook of the plan has come, or delivers what it is owed.",
        discussion: """
            Hooks are owed lines of the fleet's ledger, in order, and none is lost. A run delivers them, and during a \
            run no other command does. Exit code 1 means that a delivery failed.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Deliver what the hooks are owed, now.")
    var send = false

    @Flag(help: "Send a test event, which reports nothing.")
    var test = false

    @Option(help: ArgumentHelp("Only this hook.", valueName: "name"))
    var hook: String?

    func validate() throws {
        guard !send || !test else { throw ValidationError("--send and --test exclude each other; give one of them") }
        guard hook == nil || send || test else { throw ValidationError("--hook needs --send or --test") }
    }

    func run() async throws {
        let fleet = Fleet(root: try await Settings(userOptions).root)
        Interrupted.endCommand(after: Fleet.endHooks)
        let tries = try send ? fleet.tellHooks(hook) : test ? fleet.testHooks(hook) : []
        let report = FleetHooksReport(
            hooks: try fleet.hooks(),
            tries: tries,
            isTest: test
        )
        try output.write(report) { report.text(Terminal.options()) }
        if tries.contains(where: { $0.failure != nil }) { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

extension HookStatus {
    /// How many lines are pending and why, in one line; nil if none are.
    var trouble: String? {
        guard owed > 0 || failure != nil else { return nil }
        let since = failingSince.map { "; so since \(ISODate.instant($0))" } ?? ""
        return "the hook \(name) is owed \(owed.counted("line"))"
            + (failure.map { ": it \($0)\(since)" } ?? "")
    }
}

/// The delivery status of hooks, as text and JSON.
struct FleetHooksReport: Encodable {
    let hooks: [HookStatus]
    let tries: [Fleet.HookTry]
    let isTest: Bool

    /// A line for each attempt, or a table of the hooks.
    func text(_ options: TerminalOptions) -> String {
        var text = ""
        for one in tries {
            let done = isTest ? "has answered" : "got \(one.told.counted("line"))"
            text += TerminalText.escaped("the hook \(one.name) \(one.failure ?? done)") + "\n"
        }
        guard !hooks.isEmpty else { return "the plan has no hooks\n" }
        guard tries.isEmpty else { return text }
        var table = TextTable([
            .init("hook"), .init("confirms"), .init("sent", alignment: .right), .init("at"),
            .init("owed", alignment: .right), .init("last failure"),
        ])
        for hook in hooks {
            let since = hook.failingSince.map { "; so since \(ISODate.instant($0))" } ?? ""
            table.append([
                hook.name, hook.confirmsWaves ? "yes" : "no", hook.told.map { "line \($0)" } ?? "–",
                hook.toldAt.map { ISODate.instant($0) } ?? "–", String(hook.owed),
                hook.failure.map { $0 + since } ?? "–",
            ])
        }
        return table.text(options)
    }
}
