import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout
import HabitStoreTesting

/// A whole fleet as an operator sees it: many users who write while they are moved, a fault in one of their stores, killed runs, a pulled kill
/// switch,
/// and the removal of the old stores.
struct FleetDrill {
    /// The size of the drill.
    struct Extent {
        /// Users who are only planned, listed and indexed.
        var indexed = 100_000
        /// Users who are moved all the way while others write.
        var users = 10_000
        /// Users whose run is killed, and who are moved back.
        var killed = 1_000
        /// How often the run is killed.
        var kills = 100
        /// The number of writing processes.
        var writers = 8
        var seed: UInt64 = 1
    }

    let extent: Extent
    let folder: URL
    var figures = FleetDrillFigures()
    var random: SeededGenerator

    init(_ extent: Extent, in folder: URL) {
        (self.extent, self.folder) = (extent, folder)
        random = SeededGenerator(seed: extent.seed)
    }

    /// Runs the whole drill.
    ///
    /// - Throws: if a user is lost, moved twice or moved past a halt, or if a record is missing.
    mutating func run() throws {
        figures.note("seed \(extent.seed), \(ProcessInfo.processInfo.activeProcessorCount) processors")
        if extent.indexed > 0 { try index() }
        if extent.killed > 0 { try killRuns() }
        if extent.users > 0 { try goAllTheWay() }
    }

    /// Makes a root with users.
    func makeRoot(_ name: String, users: Int) throws -> FleetDrillRoot {
        let root = FleetDrillRoot(path: folder.appendingPathComponent(name).path)
        try root.make()
        try FleetGenerator(root: root.path).make(users)
        return root
    }

    func require(_ isSo: Bool, _ failure: @autoclosure () -> String) throws {
        if !isSo { throw FleetDrillFailure(failure()) }
    }

    // MARK: Many users, none of them moved

    private mutating func index() throws {
        let root = try makeRoot("index", users: extent.indexed)
        defer { try? FileManager.default.removeItem(atPath: root.path) }
        let plan = try FleetDrillFigures.seconds { try root.draw(Self.plan(stage: .complete)) }
        figures.note("plan of \(extent.indexed) users", plan.seconds, "s", goal: goal(2))
        let status = try FleetDrillFigures.seconds { try root.fleet.status() }
        figures.note("status of \(extent.indexed) users", status.seconds, "s", goal: goal(0.2))
        try runPaused(root)
        let stores = try root.stores()
        let rebuilt = try FleetDrillFigures.seconds { try root.fleet.rebuild(stores) { _, _ in } }
        figures.note("rebuilding the index of \(extent.indexed) users", rebuilt.seconds, "s", goal: goal(60))
        try require(rebuilt.result == extent.indexed, "the index has \(rebuilt.result) users")
    }

    /// A run that knows all users but must not start.
    private mutating func runPaused(_ root: FleetDrillRoot) throws {
        try root.fleet.pause(by: "the drill", because: "no user must move")
        let run = try FleetDrillProcess("fleet-run-child", [root.path])
        func hasBegun() throws -> Bool {
            try root.fleet.ledger.read().entries.contains { if case .waveBegan = $0.event { true } else { false } }
        }
        while try !hasBegun() {
            try require(run.isRunning, "the run has ended")
            Thread.sleep(forTimeInterval: 0.2)
        }
        Thread.sleep(forTimeInterval: 2)
        let status = try FleetDrillFigures.seconds { try root.fleet.status() }
        try require(status.result.state == "paused", "a paused fleet has the state \(status.result.state)")
        figures.note("status of \(extent.indexed) users during a run", status.seconds, "s", goal: goal(0.2))
        if let memory = run.memoryBytes {
            let mebibytes = Double(memory) / 1_048_576
            figures.note("memory of a run over \(extent.indexed) users", mebibytes, "MiB", goal: goal(256))
        }
        try require(run.kill(), "the run has ended")
        try root.fleet.resume(by: "the drill", because: "the status was measured")
    }

    /// Goals apply only to the full drill.
    func goal(_ goal: Double) -> Double? { extent.indexed >= 100_000 || extent.users >= 10_000 ? goal : nil }

    static func plan(stage: Stage) -> String {
        """
        {"stage": "\(stage.rawValue)", "lookSeconds": 0.2, "ioPressure": null, "atOnce": 8,
         "waves": [{"name": "canary", "users": 10}, {"name": "1 %", "percent": 1}, {"name": "5 %", "percent": 5},
                   {"name": "25 %", "percent": 25}, {"name": "everybody", "percent": 100}],
         "halts": {"ioPressure": null}}
        """
    }
}
