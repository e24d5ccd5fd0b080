import ArgumentParser
import Foundation

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
