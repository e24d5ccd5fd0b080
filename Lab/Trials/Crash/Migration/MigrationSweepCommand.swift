import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting

/// Kills processes that migrate stores to later schema versions, and checks what each has left.
struct MigrationSweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migration-sweep",
        abstract: "Kill processes that migrate stores with SIGKILL at random times, and check the stores.",
        discussion: """
            Migrates single stores of both engines, and users at dualwrite and live, whose two stores migrate in step. After \
            each kill a store must have one version, with exactly its records; after a run that is not killed, the last version.
            """
    )

    @Option(help: "How many processes to kill.")
    var kills = 300

    @OptionGroup var options: SweepOptions

    /// How often one store is killed before its migration is finished.
    private static let lives = 3

    func run() throws {
        var generator = SeededGenerator(seed: options.printedSeed())
        let folder = try options.makeFolder("migration").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let templates = try MigrationTemplates(folder)
        var figures = MigrationFigures()
        // A process takes less time when the machine is less busy.
        var seconds = templates.all.map(\.seconds)
        var place = 0
        while figures.kills < kills {
            let kind = place % templates.all.count
            let template = templates.all[kind]
            place += 1
            let copy = "\(folder)/\(place)"
            try FileManager.default.copyItem(atPath: template.path, toPath: copy)
            for _ in 0..<Self.lives where figures.kills < kills {
                let start = Date()
                let child = try ChildRun.run(
                    template.arguments(copy),
                    as: "migration-child",
                    crashPoint: nil,
                    lifetimeSeconds: Double.random(in: 0...seconds[kind], using: &generator)
                )
                figures.died(child.isSignalled)
                if !child.isSignalled { seconds[kind] = min(seconds[kind], Date().timeIntervalSince(start)) }
                try templates.look(template, copy, &figures)
            }
            try template.finish(copy)
            try templates.lookAtTheEnd(template, copy, &figures)
            try FileManager.default.removeItem(atPath: copy)
        }
        for line in figures.lines { print(line) }
        if figures.violations > 0 { throw ExitCode.failure }
    }
}
