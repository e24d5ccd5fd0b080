import ArgumentParser
import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreReports
import HabitStoreRollout

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
        let report = FleetStatusReport(try Fleet(root: settings.root).status())
        switch output.format {
        case .json: try JSON.write(report)
        case .text: try Output.write(report.text(Terminal.options()))
        }
        if report.damagedLine != nil || !report.different.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
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
        switch output.format {
        case .json: try JSON.write(JSON.object(["name": .string(name), "user": .string(user)]))
        case .text: try Output.write(TerminalText.escaped(user) + "\n")
        }
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
        switch output.format {
        case .json: try JSON.write(FleetLedgerReport(entries: contents.entries, damagedLine: contents.damagedLine))
        case .text:
            var table = TextTable([.init("time"), .init("what"), .init("details")])
            for entry in contents.entries {
                let (what, details) = entry.event.words
                table.append([ISODate.instant(entry.time), what, details])
            }
            let damage =
                contents.damagedLine.map { "DAMAGED in line \($0), or lines are missing from there on\n" }
                ?? "\(contents.entries.count.counted("line")), whole\n"
            try Output.write(table.text(Terminal.options()) + damage)
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
        let (settings, stores) = try await options.stores(otherVersions: .asWrittenByAnyApp)
        let fleet = Fleet(root: settings.root)
        if rebuild {
            let bar = ProgressBar(isQuiet: quiet)
            defer { bar.clear() }
            let users = try fleet.rebuild(stores) { bar.show("looking", $0, $1) }
            bar.clear()
            return try show(
                FleetAuditReport(users: users, seed: nil, findings: []),
                "the index was rebuilt: \(users.counted("user"))\n"
            )
        }
        let seed = seed ?? UInt64.random(in: 0...999_999)
        let audit = try fleet.audit(stores, sample: sample, seed: seed, comparesStores: compare)
        let lines = audit.findings.map { TerminalText.escaped("\($0.user): \($0.message)") + "\n" }.joined()
        let count = Set(audit.findings.map(\.user)).count
        let last =
            compare
            ? "\(count) of \(audit.users.counted("user")) \(audit.users == 1 ? "is" : "are") not as the index says, or have stores that differ, of \(audit.compared) who have two "
                + "(seed \(seed))\n"
            : "\(count) of \(audit.users.counted("user")) \(audit.users == 1 ? "is" : "are") not as the index says (seed \(seed))\n"
        let findings = audit.findings.map { FleetAuditReport.Finding(user: $0.user, message: $0.message) }
        try show(FleetAuditReport(users: audit.users, seed: seed, findings: findings), lines + last)
        if !audit.findings.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func show(_ report: FleetAuditReport, _ text: String) throws {
        switch output.format {
        case .json: try JSON.write(report)
        case .text: try Output.write(text)
        }
    }
}
