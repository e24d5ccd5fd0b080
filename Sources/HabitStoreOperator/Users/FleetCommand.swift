import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout

/// `habitstore fleet`.
struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Moves all users of a root in waves, and stops at the first bad sign.",
        discussion: """
            A plan says how large the waves are, how long each is watched, how fast moves may start, and what halts \
            the fleet. The waves are drawn once. Users are moved through the gate as by `rollout advance`, and no \
            further than the flags want. If your app moves users (`advancesByItself`), set that to false and leave it \
            to the fleet.

            A fleet keeps its files in ROOT/fleet. The kill switch needs none of them.
            """,
        subcommands: [
            FleetPlanCommand.self, FleetRunCommand.self, FleetPauseCommand.self, FleetResumeCommand.self,
            FleetHaltCommand.self, FleetStatusCommand.self, FleetReportCommand.self, FleetAuditCommand.self,
            FleetMetricsCommand.self, FleetHooksCommand.self, FleetWhoCommand.self,
        ]
    )
}

/// `habitstore fleet plan`.
struct FleetPlanCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Draws the waves of a plan, or reports what is wrong with it.",
        discussion: """
            Waves are drawn once. New users join the last wave, and what each wave asks for may be changed. With \
            --dry-run nothing is written; with --salt, the salt that it prints draws the same waves again.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The plan: JSON, or YAML by its file name.")
    var plan: String

    @Flag(help: "Write nothing; only show the waves.")
    var dryRun = false

    @Flag(help: "List the users of each wave.")
    var users = false

    @Option(help: ArgumentHelp("The salt that assigns users to waves. [default: random]", valueName: "hex"))
    var salt: String?

    func validate() throws {
        guard let salt else { return }
        guard salt.utf8.count == 32, salt.allSatisfy(\.isHexDigit) else {
            throw ValidationError("--salt is 32 hexadecimal digits, as --dry-run shows them")
        }
    }

    func run() async throws {
        let (plan, issues, text) = try FleetPlanReader.readText(path: plan)
        guard let plan else {
            for issue in issues { StandardError.write("error: \(issue)\n") }
            throw ExitCode(ExitStatus.data.rawValue)
        }
        let (settings, stores) = try await options.stores(of: userOptions)
        let listing = try stores.users()
        if let unknown = listing.unknown.first { throw unknown }
        let users = try listing.users.map { (user: $0, bytes: try stores.storeBytes(of: $0)) }
        let fleet = Fleet(root: settings.root)
        let members: FleetMembers
        if dryRun {
            members = try fleet.drawing(plan, users, salt: salt)
        } else {
            let isYAML = self.plan.hasSuffix(".yaml") || self.plan.hasSuffix(".yml")
            members = try fleet.draw(plan, text: text, isYAML: isYAML, users, by: NSUserName(), salt: salt) {
                StandardError.note($0)
            }
        }
        try show(plan, members)
    }

    private func show(_ plan: FleetPlan, _ members: FleetMembers) throws {
        let waves = members.waves.indices.map { FleetWaveReport(plan, members, $0, listsUsers: users || dryRun) }
        // The salt has the hexadecimal digits that decided the order of users.
        try output.write([
            "isDryRun": dryRun, "salt": members.salt, "users": members.members.count, "waves": waves,
        ]) {
            var table = TextTable([
                .init("wave"), .init("users", alignment: .right), .init("heavy", alignment: .right),
                .init("MiB", alignment: .right), .init("at least", alignment: .right),
            ])
            for wave in waves {
                table.append([
                    wave.name, String(wave.users), String(wave.heavy), String(wave.bytes >> 20),
                    wave.leastSeconds.durationText,
                ])
            }
            let end = dryRun ? "; nothing was written, and `--salt \(members.salt)` draws the same" : ""
            let total = waves.reduce(0) { $0 + $1.leastSeconds }.durationText
            let last =
                "\(members.members.count.counted("user")) in \(waves.count.counted("wave")), \(total) at least\(end)\n"
            return table.text(Terminal.options()) + list(waves) + last
        }
    }

    /// Lists the users of each wave.
    private func list(_ waves: [FleetWaveReport]) -> String {
        guard users else { return "" }
        var text = ""
        for wave in waves {
            text += "\n" + TerminalText.escaped("\(wave.name):") + "\n"
            for member in wave.members ?? [] {
                let heavy = member.isHeavy ? ", heavy" : ""
                text += TerminalText.escaped("  \(member.user) (\(member.bytes) bytes\(heavy))") + "\n"
            }
        }
        return text + "\n"
    }
}

/// A wave in the plan's report.
struct FleetWaveReport: Encodable {
    struct Member: Encodable {
        let user: String
        let bytes: Int
        let isHeavy: Bool
    }

    let name: String
    let users: Int
    let heavy: Int
    let bytes: Int
    /// The least that the plan's pace and the wave's soak can take.
    let leastSeconds: Double
    /// The wave's users, in moving order; nil unless requested.
    let members: [Member]?

    init(_ plan: FleetPlan, _ members: FleetMembers, _ wave: Int, listsUsers: Bool) {
        let own = members.wave(wave)
        name = members.waves[wave]
        users = own.count
        heavy = own.count { $0.cohort == .heavy }
        bytes = own.reduce(0) { $0 + $1.bytes }
        leastSeconds = plan.leastSeconds(ofWave: wave, users: own.count, bytes: bytes)
        self.members =
            listsUsers ? own.map { Member(user: $0.user, bytes: $0.bytes, isHeavy: $0.cohort == .heavy) } : nil
    }
}

/// `habitstore fleet run`.
struct FleetRunCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Moves users wave by wave, until all have arrived or something halts it.",
        discussion: """
            It prints in one line what it is doing and what it waits for, and runs the plan's hooks. If it is killed, \
            the next run continues. SIGINT, SIGTERM and SIGHUP end the hooks in progress with it. Exit code 1 means \
            that it was halted, or that some users could not be moved.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Show no progress.")
    var quiet = false

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        AdvisedUser.forgetUser()
        Interrupted.endCommand(after: Fleet.endHooks)
        let fleet = Fleet(root: settings.root)
        let isShown = output.format == .text && !quiet
        let end = try await withCheckedThrowingContinuation { continuation in
            // A run blocks for hours, which a Swift task must not do.
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try fleet.run(stores, by: NSUserName()) { line in
                            if isShown { StandardError.note(line) }
                        }
                    }
                )
            }
        }
        switch end {
        case .done(let passedOver):
            try say(
                state: "done",
                "all waves are done"
                    + (passedOver > 0
                        ? "; \(passedOver.counted("user")) \(passedOver == 1 ? "was" : "were") killed, and not moved"
                        : "")
            )
            if passedOver > 0 { throw ExitCode(ExitStatus.different.rawValue) }
        case .halted(let person, let reason, let user):
            let because = AdvisedUser.filled(reason, about: user)
            let words = "halted by \(person): \(because)" + (user.map { " (user \($0))" } ?? "")
            try say(state: "halted", words + "; `\(Tool.name) fleet resume --because TEXT` continues it")
            throw ExitCode(ExitStatus.different.rawValue)
        }
    }

    private func say(state: String, _ text: String) throws {
        try output.write(["state": state, "text": text]) { TerminalText.escaped(text) + "\n" }
    }
}

/// The reason for stopping or resuming a fleet.
struct FleetWordOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Why, for the ledger.", valueName: "text"))
    var because: String

    func validate() throws {
        guard because.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("--because is empty; say why")
        }
    }
}

extension Fleet {
    /// Notifies the plan's hooks of what was just done, and reports the result.
    fileprivate func tellHooksAloud() {
        Interrupted.endCommand(after: Fleet.endHooks)
        for line in tellHooksInWords() { StandardError.note(line) }
    }
}

/// `habitstore fleet pause`.
struct FleetPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Starts no new users, and finishes those in progress."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var word: FleetWordOptions

    func run() async throws {
        let fleet = Fleet(root: try await Settings(userOptions).root)
        let isNew = try fleet.pause(by: NSUserName(), because: word.because)
        try Output.write(isNew ? "paused\n" : "paused already\n")
        if isNew { fleet.tellHooksAloud() }
    }
}

/// `habitstore fleet resume`.
struct FleetResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Continues a fleet that was paused or halted.",
        discussion:
            "It does not refute a difference: until a complete verification finds the user's stores equal, the next run halts again for that user at "
            + "the plan's stage, and at other stages the gate refuses the user."
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var word: FleetWordOptions

    func run() async throws {
        let fleet = Fleet(root: try await Settings(userOptions).root)
        let wasStopped = try fleet.resume(by: NSUserName(), because: word.because)
        let next = fleet.isRunning ? "" : "; `\(Tool.name) fleet run` continues where it stopped"
        try Output.write(wasStopped ? "resumed\(next)\n" : "it was neither paused nor halted\n")
        let different = try? fleet.status().different
        if wasStopped, let different, !different.isEmpty {
            StandardError.note(
                "the stores of \(FleetOverview.counted(different.count, "user")) still differ, and halt the fleet again until a complete verification "
                    + "finds them equal; `\(Tool.name) fleet status` lists them"
            )
        }
        if wasStopped { fleet.tellHooksAloud() }
    }
}

/// `habitstore fleet halt`.
struct FleetHaltCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "halt",
        abstract: "Stops all moves immediately.",
        discussion: """
            A run checks for the halt, a file under ROOT/fleet, before each move. Users stay where they are; --back \
            takes those of the present wave back to off. The kill switch (`rollout kill`) is separate: it takes \
            everybody back, and keeps them there.
            """
    )

    @OptionGroup var userOptions: UserOptions
    @OptionGroup var options: PolicyOptions
    @OptionGroup var word: FleetWordOptions

    @Flag(help: "Take the users of the present wave back, too.")
    var back = false

    func run() async throws {
        let (settings, stores) = try await options.stores(of: userOptions)
        let fleet = Fleet(root: settings.root)
        let isNew = try fleet.halt(by: NSUserName(), because: word.because)
        try Output.write(isNew ? "halted\n" : "halted already\n")
        guard back else {
            if isNew { fleet.tellHooksAloud() }
            return
        }
        let taken = try fleet.takeBack(stores)
        for (user, error) in taken.failures {
            let line = "\(user): FAILED: \(ErrorReport.message(of: error, for: user))"
            try Output.write(TerminalText.escaped(line) + "\n")
        }
        let failed = taken.failures.count
        try Output.write(
            "\(taken.users.counted("user")) of wave \(taken.wave + 1) \(taken.users == 1 ? "was" : "were") taken back, \(failed) could not be\n"
        )
        fleet.tellHooksAloud()
        if failed > 0 { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
