import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import StandardEngines

/// Kills processes whose threads write to one store and share commits, and checks what each has left.
struct GroupSweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group-sweep",
        abstract: "Kill processes whose threads share commits with SIGKILL at random times, and check their stores."
    )

    @Option(help: "How many processes to kill.")
    var kills = 40

    @Option(help: "How many threads write in each process.")
    var threads = 8

    @OptionGroup var options: SweepOptions

    /// How often one store is written to and killed before the next one is created.
    private static let lives = 4
    /// The shortest and longest lifetime of a child, in seconds.
    private static let lifetime = 0.05...0.25

    func run() throws {
        var generator = SeededGenerator(seed: options.printedSeed())
        let folder = try options.makeFolder("group")
        defer { try? FileManager.default.removeItem(at: folder) }
        var (killed, acknowledged, violations) = (0, 0, 0)
        while killed < kills {
            let engine = EngineName.standard[killed / Self.lives % EngineName.standard.count]
            let path = folder.appendingPathComponent("\(killed).store").path
            var report = Report()
            for _ in 0..<Self.lives where killed < kills {
                let arguments = ["--store", path, "--engine", engine.rawValue, "--threads", "\(threads)"]
                let child = try ChildRun.run(
                    arguments + ["--first", "\((report.begun.max() ?? 0) + 1)"],
                    as: "group-child",
                    crashPoint: nil,
                    lifetimeSeconds: Double.random(in: Self.lifetime, using: &generator)
                )
                killed += 1
                report.take(child)
                let store = try GroupWorkload.open(path, engine)
                for violation in try GroupWorkload.contradictions(store, report) {
                    print("VIOLATION kill \(killed), \(engine.rawValue): \(violation)")
                    violations += 1
                }
                store.close()
            }
            acknowledged += report.acknowledged.count
        }
        print("\(killed) kills, \(acknowledged) acknowledged writes")
        print("\(violations) violations")
        if violations > 0 { throw ExitCode.failure }
    }
}
