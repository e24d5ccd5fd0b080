import ArgumentParser
import Foundation
import HabitStoreRollout

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
            let child = try ChildRun.run(
                scenario.arguments(root: root, flags: flags, first: next) + swept.arguments,
                as: "crash-child",
                crashPoint: point,
                lifetimeSeconds: point == nil ? scenario.lifetimeSeconds : pointSeconds
            )
            report.take(child)
            let place = child.diedByItself ? point?.split(separator: ":").first : nil
            figures.died(at: place.map(String.init) ?? "at random")
            next = max(next, (report.begun.max() ?? 0) + 1)
        }
        let outcome = Recovery(root: root.path, flags: flags, engines: try swept.engines, base: base, report: report)
            .check()
        figures.add(scenario, report, outcome)
        for violation in outcome.violations { print("VIOLATION \(scenario): \(violation)") }
        return outcome.violations.isEmpty
    }
}
