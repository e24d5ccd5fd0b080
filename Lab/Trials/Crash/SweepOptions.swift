import ArgumentParser
import Foundation

/// What all sweeps are told.
struct SweepOptions: ParsableArguments {
    @Option(help: "What the scenarios and the instants follow from; at random when not given.")
    var seed: UInt64?

    @Option(help: "Where files are made.")
    var folder = NSTemporaryDirectory()

    /// The seed, which is printed.
    func printedSeed() -> UInt64 {
        let seed = seed ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        return seed
    }

    /// Makes a folder for one sweep.
    func makeFolder(_ name: String) throws -> URL {
        let folder = URL(fileURLWithPath: folder).appendingPathComponent("\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
