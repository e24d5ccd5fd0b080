import ArgumentParser
import Foundation
import HabitStoreRollout

/// Has several processes work on one user at once, stops, continues and kills them, puts files back, and checks what is left.
struct TangleSweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tangle-sweep",
        abstract:
            "Stop and kill several processes that move, kill, copy and write one user at once, refuse them what they need, and check what is left.",
        discussion: """
            The seed reproduces which processes there are and what is done to them when. What comes of it differs from run to \
            run, since the processes race.
            """
    )

    @Option(help: "How many processes to kill.")
    var kills = 60

    @Option(help: "The seed of the scenarios.")
    var seed: UInt64?

    @Option(help: "Only the scenario of this number, and its root is kept.")
    var only: Int?

    @Option(help: "Where the roots are made.")
    var folder = NSTemporaryDirectory()

    @Option(help: "An earlier version of this command, some of whose processes are mixed in.")
    var previous: String?

    @Flag(help: "Print each scenario, and what was refused.")
    var verbose = false

    mutating func run() throws {
        let seed = seed ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        // A process may die while it is told something.
        signal(SIGPIPE, SIG_IGN)
        let folder = URL(fileURLWithPath: folder).appendingPathComponent("tangle-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let templates = try TangleTemplates(in: folder)
        let previous = previous.map { URL(fileURLWithPath: $0) }
        var figures = TangleFigures()
        let started = Date()
        var number = only ?? 0
        repeat {
            let scenario = TangleScenario(seed: seed, number: number)
            let place = folder.appendingPathComponent("\(number)")
            if verbose { print(scenario) }
            if try Self.run(scenario, previous, place, templates, &figures), only == nil {
                try FileManager.default.removeItem(at: place)
            } else {
                print("see \(place.path)")
            }
            number += 1
            fflush(nil)
        } while only == nil && figures.kills < kills
        let seconds = Date().timeIntervalSince(started)
        for line in figures.lines(seconds: seconds, isVerbose: verbose, expects: CrashPoint.all) { print(line) }
        guard figures.violations == 0 else { throw ExitCode.failure }
        if only == nil { try FileManager.default.removeItem(at: folder) }
    }

    private static func run(
        _ scenario: TangleScenario,
        _ previous: URL?,
        _ folder: URL,
        _ templates: TangleTemplates,
        _ figures: inout TangleFigures
    ) throws -> Bool {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (root, older) = (folder.appendingPathComponent("root"), folder.appendingPathComponent("older"))
        let base = try templates.copy(
            scenario.start,
            scenario.old,
            hasLongEvidence: scenario.hasLongEvidence,
            to: root
        )
        if scenario.lacksControl {
            let files = try TangleFiles(root: root)
            try files.apply(.missingControl, from: files)
        }
        var run = try TangleRun(scenario, previous: previous, in: folder)
        let reports = try run.run(&figures)
        if let tampering = scenario.tampering {
            _ = try templates.copy(scenario.start, scenario.old, hasLongEvidence: false, to: older)
            try TangleFiles(root: root).apply(tampering, from: try TangleFiles(root: older))
        }
        // The recovery changes what it looks at: who wants to know how something came about needs what was there before.
        try FileManager.default.copyItem(at: root, to: folder.appendingPathComponent("before"))
        let outcome = TangleRecovery(root: root, scenario: scenario, base: base, reports: reports, isMixed: run.isMixed)
            .check()
        figures.add(run, reports, outcome)
        for violation in outcome.violations { print("VIOLATION \(scenario): \(violation)") }
        return outcome.violations.isEmpty
    }
}
