import Foundation
import HabitStore
import HabitStoreTesting

/// The suite `live`: the costs and latency of live queries, compared with GRDB's `ValueObservation`.
struct LiveRun {
    private let directory: URL
    private let rounds: Int

    init(_ directory: URL, rounds: Int) {
        self.directory = directory.appendingPathComponent("live")
        self.rounds = rounds
    }

    func measure() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try LiveInsertions(directory, rounds: rounds).measure()
        let data = BenchData(habits: 100, entriesEach: 100)
        try LiveIdleQueries(directory, data, rounds: rounds).measure()
        try LiveCommits(directory, data).measure()
        try LiveProcesses(directory.appendingPathComponent("users"), rounds: rounds).measure()
        try LiveMemory(directory, data).measure()
    }

    static func median(_ values: [Double]) -> Double { percentile(50, values) }

    static func percentile(_ percent: Int, _ values: [Double]) -> Double {
        values.sorted()[values.count * percent / 100]
    }

    static func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

    /// The cells for a maximum, and for whether it is met.
    static func goal(_ value: Double, _ most: Double) -> [String] { ["≤ \(most)", value <= most ? "yes" : "no"] }
}
