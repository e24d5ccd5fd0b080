import ArgumentParser
import Foundation

/// Compares the steady costs of the work with their limits.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Fails if work takes more allocations, records or instructions than its limits.",
        discussion: "Needs valgrind, which counts instructions. Does not measure time."
    )

    @Option(help: "The file with the limits.")
    var thresholds = "Benchmarks/thresholds.json"

    @Flag(help: "Write the counts to that file as the new limits.")
    var update = false

    func run() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("habitstore-check-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let measured = try CheckRun(directory).measure()
        let file = URL(fileURLWithPath: thresholds)
        if update {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            let limits = Dictionary(uniqueKeysWithValues: measured.map { ($0.name, $0.counts) })
            try (encoder.encode(limits) + Data("\n".utf8)).write(to: file)
        }
        let limits = try JSONDecoder().decode([String: SteadyCounts].self, from: Data(contentsOf: file))
        let excesses = show(measured, limits)
        guard excesses == 0 else {
            throw BenchError("\(excesses) of \(measured.count) exceed their limits in \(thresholds)")
        }
    }

    private func show(_ measured: [(name: String, counts: SteadyCounts)], _ limits: [String: SteadyCounts]) -> Int {
        print("| work | allocations | records | instructions | too many |")
        print("|---|---:|---:|---:|---|")
        var excesses = 0
        for (name, counts) in measured {
            // A model's two forms are compared with each other, and need no limits.
            let unknown = CheckedModels.isOne(name) ? [] : ["not in the file; add it with --update"]
            var found = limits[name].map(counts.excesses) ?? unknown
            if name.hasSuffix(CheckedModels.made),
                let written = measured.first(where: { $0.name == String(name.dropLast(CheckedModels.made.count)) })
            {
                found += counts.excesses(over: written.counts).map { "\($0) for the written-out model" }
            }
            if !found.isEmpty { excesses += 1 }
            let allocations = counts.allocations.map { "\($0)" }
            let numbers = [allocations, counts.examined.map(String.init), counts.instructions.map(\.grouped)]
            let excess = found.isEmpty ? "–" : found.joined(separator: "; ")
            let cells = [name] + numbers.map { $0 ?? "–" } + [excess]
            print("| \(cells.joined(separator: " | ")) |")
        }
        return excesses
    }
}
