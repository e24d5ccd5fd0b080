import ArgumentParser
import Foundation
import HabitStoreRollout

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
