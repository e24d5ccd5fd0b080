import ArgumentParser
import Foundation

/// Options of all sweeps.
struct SweepOptions: ParsableArguments {
    @Option(help: "What the scenarios and the instants follow from; at random when not given.")
    var seed: UInt64?

    @Option(help: "Where files are made.")
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
