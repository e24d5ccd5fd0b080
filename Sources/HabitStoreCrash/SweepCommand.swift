import ArgumentParser
import Foundation
import HabitStoreRollout

/// Kills children one after the other, and checks what each has left.
struct SweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sweep",
        abstract: "Kill children with SIGKILL at every crash point and at random instants, and check what is left."
    )

    @Option(help: "How many processes to kill.")
    var kills = 150

    @Option(help: "The seed of the scenarios.")
    var seed: UInt64?

    @Option(help: "Only the scenario of this number, and its root is kept.")
    var only: Int?

    @Option(help: "Where the roots are made.")
    var folder = NSTemporaryDirectory()

    @Flag(help: "Print each scenario, and what was refused.")
    var verbose = false

    /// How long a child has to come to its crash point, in seconds.
    private static let pointSeconds = 1.0

    mutating func run() throws {
        let seed = seed ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        let folder = URL(fileURLWithPath: folder).appendingPathComponent("crash-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { if only == nil { try? FileManager.default.removeItem(at: folder) } }
        let templates = try Templates(in: folder)
        var figures = SweepFigures()
        let started = Date()
        var number = only ?? 0
        repeat {
            let scenario = Scenario(seed: seed, number: number)
            if verbose { print(scenario) }
            let root = folder.appendingPathComponent("\(number)")
            let isClean = try Self.run(scenario, root, templates, &figures)
            if only == nil, isClean { try FileManager.default.removeItem(at: root) }
            if !isClean { print("see \(root.path)") }
            number += 1
            fflush(nil)
        } while only == nil && figures.kills < kills
        let seconds = Date().timeIntervalSince(started)
        for line in figures.lines(seconds: seconds, isVerbose: verbose, expects: CrashPoint.all) { print(line) }
        if figures.violations > 0 { throw ExitCode.failure }
    }

    private static func run(
        _ scenario: Scenario,
        _ folder: URL,
        _ templates: Templates,
        _ figures: inout SweepFigures
    ) throws -> Bool {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let root = folder.appendingPathComponent("root")
        let base =
            scenario.isNew
            ? [] : try templates.copy(scenario.start, scenario.old, hasLongEvidence: scenario.isFiling, to: root)
        let flags = StageFlags(path: folder.appendingPathComponent("flags.json").path, old: scenario.old)
        try flags.want(scenario.start)
        var report = Report()
        var next = (base.max() ?? 0) + 1
        let lives = [scenario.crashPoint.map { "\($0.name):\($0.count)" }] + (scenario.second.map { [$0] } ?? [])
        for point in lives {
            let child = try ChildRun.run(
                scenario.arguments(root: root, flags: flags, first: next),
                crashPoint: point,
                lifetimeSeconds: point == nil ? scenario.lifetimeSeconds : pointSeconds
            )
            report.take(child)
            let place = child.diedByItself ? point?.split(separator: ":").first : nil
            figures.died(at: place.map(String.init) ?? "at random")
            next = max(next, (report.begun.max() ?? 0) + 1)
        }
        let outcome = Recovery(root: root.path, flags: flags, base: base, report: report).check()
        figures.add(scenario, report, outcome)
        for violation in outcome.violations { print("VIOLATION \(scenario): \(violation)") }
        return outcome.violations.isEmpty
    }
}
