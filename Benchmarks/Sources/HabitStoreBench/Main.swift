import ArgumentParser
import Foundation

/// Measures all sides in turn in one run, and prints medians and ratios as Markdown.
@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habitstore-bench",
        abstract: "Measures the stores against the same work in C and with GRDB.",
        discussion: """
            table     each kind of work on 200,000 entries: our stores, C, GRDB
            plans     every kind of query on the heavy fixture: our stores, C, GRDB
            flags     evaluating feature flags and changing their files
            openings  opening users' stores, compared with opening the stores alone
            rollout   writing and reading through a user's store, shadow reads, the kill switch
            mapped    what an app's code pays in an adopted file; adopting and importing a large file
            verifier  comparing two stores of 200,000 entries
            scale     users in one process: memory, open files, maps, opening
            threads   reads and commits by one to eight threads: our stores, C
            growth    one user with a thousand entries and more
            live      live queries, their latency, commits and memory: our stores, GRDB
            server    stores on a server of PostgreSQL: our stores, C, pgbench; many users on one server
            """,
        subcommands: [Measure.self, CheckCommand.self],
        defaultSubcommand: Measure.self
    )

    static func main() {
        // The processes that suites start.
        let arguments = CommandLine.arguments
        if arguments.count > 1, arguments[1] == KillUsers.childArgument { return KillUsers.runChild(arguments) }
        if arguments.count > 1, arguments[1] == VerifierRun.childArgument { return VerifierRun.runChild(arguments) }
        if arguments.count > 1, arguments[1] == ScaleChild.argument { return ScaleChild.run(arguments) }
        if arguments.count > 1, arguments[1] == GrowthChild.argument { return GrowthChild.run(arguments) }
        if arguments.count > 1, arguments[1] == LiveProcesses.childArgument { return LiveProcesses.runChild(arguments) }
        if arguments.count > 1, arguments[1] == LiveMemory.childArgument { return LiveMemory.runChild(arguments) }
        if arguments.count > 1, arguments[1] == ServerUsersChild.argument { return ServerUsersChild.run(arguments) }
        if arguments.count > 1, arguments[1] == Callgrind.childArgument { return CheckRun.runChild() }
        Self.main(nil)
    }
}

struct Measure: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "measure", abstract: "Runs one suite, or all.")

    enum Suite: String, CaseIterable, ExpressibleByArgument {
        case table, plans, flags, openings, rollout, mapped, verifier, scale, threads, growth, live, server, all
    }

    @Argument(help: "The suite, or all.")
    var suite: Suite = .all

    @Option(help: "The number of rounds.")
    var rounds = 7

    @Option(help: "The heavy fixture, for the suite plans.")
    var fixture = "fixtures/heavy.sqlite"

    @Option(help: "How many entries each of the table's 200 habits has.")
    var entriesEach = 1_000

    @Option(help: "How many users the suite scale reaches.")
    var users = 1_000

    @Option(help: "How many entries the user of the suite growth reaches.")
    var entries = 100_000

    @Option(help: "How many rows the large file of the suite mapped has.")
    var rows = 1_000_000

    @Option(help: "How many users the suite server creates.")
    var serverUsers = 10_000

    @Option(help: "The file for the table as JSON.")
    var json: String?

    @Option(help: "The file for the table as SVG.")
    var plot: String?

    func validate() throws {
        guard rounds > 0, entriesEach > 0, users > 0, serverUsers > 0, entries > 0, rows > 0 else {
            throw ValidationError("all counts must be 1 or more")
        }
    }

    func run() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("habitstore-bench-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for suite in suite == .all ? Suite.allCases : [suite] { try measure(suite, directory) }
    }

    private func measure(_ suite: Suite, _ directory: URL) throws {
        switch suite {
        case .table: try measureTable(directory)
        case .plans: try measurePlans(directory)
        case .flags: try FlagRun(directory, rounds: rounds).measure()
        case .openings: try OpeningRun(directory, rounds: rounds).measure()
        case .rollout: try RolloutRun(directory, rounds: rounds).measure()
        case .mapped: try MappedRun(directory, rounds: rounds, rows: rows).measure()
        case .verifier: try VerifierRun(directory, rounds: rounds).measure()
        case .scale: try ScaleRun(directory, users: users).measure()
        case .threads: try ThreadRun(directory, rounds: rounds).measure()
        case .growth: try GrowthRun(directory, entries: entries).measure()
        case .live: try LiveRun(directory, rounds: rounds).measure()
        case .server: try ServerRun(directory, rounds: rounds, users: serverUsers).measure()
        case .all: break
        }
    }

    private func measureTable(_ directory: URL) throws {
        let report = try TableRun(directory, rounds: rounds, entriesEach: entriesEach).measure()
        print(report.markdown)
        if let json { try report.json.write(to: URL(fileURLWithPath: json)) }
        if let plot { try Data(TablePlot(report).svg.utf8).write(to: URL(fileURLWithPath: plot)) }
    }

    private func measurePlans(_ directory: URL) throws {
        let data = try BenchData(fixture: fixture)
        print(
            "\n\(data.habits.count) habits, \(data.entries.count.grouped) entries, \(rounds) rounds in turn; medians."
        )
        let run = try PlanRun(data, directory, rounds: rounds)
        defer { run.close() }
        try run.measure()
    }
}
