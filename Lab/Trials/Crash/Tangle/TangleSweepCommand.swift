import ArgumentParser
import Foundation
import HabitStoreRollout

/// Runs several processes on one user at the same time; stops, continues and kills them, restores older files, and checks what is left.
struct TangleSweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tangle-sweep",
        abstract:
            "Stop and kill processes that move, kill, copy and write one user concurrently, make their system calls fail, and check the stores.",
        discussion:
            "The seed reproduces the processes and the events, but not the results, since the processes race."
    )

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many processes to kill.")
    var kills = 60

    @Option(help: "An earlier version of this executable, which runs some of the processes.")
    var previous: String?

    func run() throws {
        let seed = options.sweep.printedSeed()
        // A process may die while the sweep writes to it.
        signal(SIGPIPE, SIG_IGN)
        let folder = try options.sweep.makeFolder("tangle")
        let templates = try TangleTemplates(in: folder)
        let previous = previous.map { URL(fileURLWithPath: $0) }
        try options.run(in: folder, TangleFigures(), expects: CrashPoint.all, until: { $0.kills >= kills }) {
            number,
            place,
            figures in
            let scenario = TangleScenario(seed: seed, number: number)
            if options.verbose { print(scenario) }
            return try Self.run(scenario, previous, place, templates, &figures)
        }
    }

    private static func run(
        _ scenario: TangleScenario,
        _ previous: URL?,
        _ folder: URL,
        _ templates: TangleTemplates,
        _ figures: inout TangleFigures
    ) throws -> Bool {
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
        // The recovery changes the files that it checks: keep a copy for investigations.
        try FileManager.default.copyItem(at: root, to: folder.appendingPathComponent("before"))
        let outcome = TangleRecovery(root: root, scenario: scenario, base: base, reports: reports, isMixed: run.isMixed)
            .check()
        figures.add(run, reports, outcome)
        for violation in outcome.violations { print("VIOLATION \(scenario): \(violation)") }
        return outcome.violations.isEmpty
    }
}
