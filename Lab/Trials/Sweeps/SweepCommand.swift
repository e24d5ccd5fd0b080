import ArgumentParser
import Foundation
import HabitStoreRollout
import HabitStoreTesting

/// Kills children one after another, and checks what each has left.
struct SweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sweep",
        abstract: "Kill children with SIGKILL at every crash point and at random times, and check their stores."
    )

    @OptionGroup var options: ScenarioOptions

    @OptionGroup var engineOptions: SweptEngineOptions

    @Option(help: "How many processes to kill.")
    var kills = 150

    /// The time limit for a child to reach its crash point, in seconds.
    private static let pointSeconds = 1.0

    func run() throws {
        let seed = options.sweep.printedSeed()
        let folder = try options.sweep.makeFolder("crash")
        let swept = engineOptions.engines
        try swept.prepare()
        let templates = try Templates(in: folder, of: swept)
        try options.run(in: folder, SweepFigures(), expects: swept.crashPoints, until: { $0.kills >= kills }) {
            number,
            place,
            figures in
            let scenario = Scenario(seed: seed, number: number, of: swept)
            if options.verbose { print(scenario) }
            return try Self.run(scenario, place, templates, swept, &figures)
        }
    }

    private static func run(
        _ scenario: Scenario,
        _ folder: URL,
        _ templates: Templates,
        _ swept: SweptEngines,
        _ figures: inout SweepFigures
    ) throws -> Bool {
        let root = folder.appendingPathComponent("root")
        let base =
            scenario.isNew
            ? [] : try templates.copy(scenario.start, scenario.pair, hasLongEvidence: scenario.isFiling, to: root)
        let flags = StageFlags(path: folder.appendingPathComponent("flags.json").path, scenario.pair)
        try flags.want(scenario.start)
        var report = Report()
        var next = (base.max() ?? 0) + 1
        let lives = [scenario.crashPoint.map { "\($0.name):\($0.count)" }] + (scenario.second.map { [$0] } ?? [])
        for point in lives {
            let child = try ChildProcess.run(
                scenario.arguments(root: root, flags: flags, first: next) + swept.arguments,
                as: "crash-child",
                crashPoint: point,
                lifetimeSeconds: point == nil ? scenario.lifetimeSeconds : pointSeconds
            )
            report.take(child)
            let place = child.wasKilled ? nil : point?.split(separator: ":").first
            figures.died(at: place.map(String.init) ?? "at random")
            next = max(next, (report.ledger.begun.max() ?? 0) + 1)
        }
        let outcome = Recovery(root: root.path, flags: flags, engines: try swept.engines, base: base, report: report)
            .check()
        figures.add(scenario, report, outcome)
        for violation in outcome.violations { print("VIOLATION \(scenario): \(violation)") }
        return outcome.violations.isEmpty
    }
}

/// Kills processes that write to a user's stores while the user is moved from one engine to the other, and checks what is left. The processes are
/// subcommands of this program, so that those of an earlier version start with the same arguments.
struct CrashCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crash",
        abstract: "Kill processes during writes and moves, and check that nothing is lost.",
        subcommands: [
            SweepCommand.self, GroupSweepCommand.self, MigrationSweepCommand.self, LaunchSweepCommand.self,
            ConcurrentSweepCommand.self, PowerCutCommand.self,
        ]
    )
}

/// The counts of a sweep.
struct SweepFigures: ScenarioFigures {
    private(set) var kills = 0
    var acknowledged = 0
    var open = 0
    var keptOpen = 0
    var moves = 0
    private(set) var places: [String: Int] = [:]
    private var starts: [Stage: Int] = [:]
    private var ends: [Stage: Int] = [:]
    private var ways: [String: Int] = [:]
    private var refusals: [String: Int] = [:]
    private(set) var violations = 0

    /// Counts a death.
    mutating func died(at point: String) {
        kills += 1
        places[point, default: 0] += 1
    }

    /// Counts the result of a scenario.
    mutating func add(_ scenario: Scenario, _ report: Report, _ outcome: Recovery.Outcome) {
        starts[scenario.start, default: 0] += 1
        if let stage = outcome.stage { ends[stage, default: 0] += 1 }
        ways["\(scenario.start.rawValue) \(scenario.move.rawValue)", default: 0] += 1
        acknowledged += report.ledger.acknowledged.count
        open += report.ledger.open.count
        keptOpen += outcome.keptOpen
        moves += report.moves
        refusals.merge(report.refusals, uniquingKeysWith: +)
        violations += outcome.violations.count
    }

    func lines(seconds: Double, isVerbose: Bool) -> [String] {
        var lines = ["by stage            start      end"]
        lines += Stage.allCases.map { stage in
            "  " + Self.padded(stage.rawValue, 14) + Self.number(starts[stage] ?? 0) + Self.number(ends[stage] ?? 0)
        }
        if isVerbose { lines += ["by move:"] + Self.table(ways) }
        if isVerbose { lines += ["refusals:"] + Self.table(refusals) }
        let each = kills > 0 ? Int(seconds * 1_000) / kills : 0
        lines.append(
            "\(kills) kills in \(Int(seconds)) s, \(each) ms each; \(moves) moves, \(acknowledged) writes acknowledged, "
                + "\(open) in flight or unknown, of which \(keptOpen) took effect"
        )
        return lines
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

/// The counts of a sweep over scenarios.
protocol ScenarioFigures {
    var kills: Int { get }
    var violations: Int { get }

    /// The table without its last lines.
    func lines(seconds: Double, isVerbose: Bool) -> [String]

    /// The number of deaths at each place.
    var places: [String: Int] { get }
}

extension ScenarioFigures {
    /// Prints the table.
    ///
    /// - Parameter points: the crash points at which a process should have died.
    /// - Throws: `ExitCode.failure` after a violation.
    func conclude(since start: Date, isVerbose: Bool, expects points: [String]) throws {
        print("kills by place:")
        for line in Self.table(places) + lines(seconds: Date().timeIntervalSince(start), isVerbose: isVerbose) {
            print(line)
        }
        let missed = points.filter { places[$0] == nil }
        if !missed.isEmpty { print("no process died at: \(missed.joined(separator: ", "))") }
        print("\(violations) violations")
        if violations > 0 { throw ExitCode.failure }
    }

    static func table(_ counts: [String: Int]) -> [String] {
        counts.sorted { $0.key < $1.key }.map { number($0.value) + "  " + $0.key }
    }

    static func number(_ number: Int) -> String {
        let text = "\(number)"
        return String(repeating: " ", count: max(0, 9 - text.count)) + text
    }
}

/// Options of the sweeps over numbered scenarios.
struct ScenarioOptions: ParsableArguments {
    @OptionGroup var sweep: SweepOptions

    @Option(help: "Run only the scenario with this number, and keep its root.")
    var only: Int?

    @Flag(help: "Print each scenario, and the counts of refusals.")
    var verbose = false

    /// Runs scenarios one after another until there are enough, and prints the results. The folder of a failed scenario is kept.
    ///
    /// - Parameters:
    ///   - points: the crash points at which a process should have died.
    ///   - run: runs the scenario of a number in its own folder, and returns whether there was no violation.
    func run<Figures: ScenarioFigures>(
        in folder: URL,
        _ start: Figures,
        expects points: [String],
        until isEnough: (Figures) -> Bool,
        _ run: (_ number: Int, _ folder: URL, _ figures: inout Figures) throws -> Bool
    ) throws {
        var figures = start
        let started = Date()
        var number = only ?? 0
        repeat {
            let place = folder.appendingPathComponent("\(number)")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            if try run(number, place, &figures), only == nil {
                try FileManager.default.removeItem(at: place)
            } else {
                print("see \(place.path)")
            }
            number += 1
            fflush(nil)
        } while only == nil && !isEnough(figures)
        try figures.conclude(since: started, isVerbose: verbose, expects: points)
        if only == nil { try FileManager.default.removeItem(at: folder) }
    }
}

/// Options of all sweeps.
struct SweepOptions: ParsableArguments {
    @Option(help: "The seed of the scenarios; random if not given.")
    var seed: UInt64?

    @Option(help: "Where to create files.")
    var folder = NSTemporaryDirectory()

    /// Prints and returns the seed.
    func printedSeed() -> UInt64 {
        let seed = seed ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        return seed
    }

    /// Creates a folder for one sweep.
    func makeFolder(_ name: String) throws -> URL {
        let folder = URL(fileURLWithPath: folder).appendingPathComponent("\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
