import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import RolloutTesting
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreFleet

/// Some users of one root, and the fleet that moves them.
struct TestFleet {
    let user: StagedUser
    let users: [String]

    init(_ count: Int) throws {
        user = try StagedUser(EnginePair(old: .sqlite, new: .lmdb), .standard)
        users = (0..<count).map { "user-\($0)" }
        let stores = try stores()
        for name in users {
            let store = try stores.store(for: name)
            defer { store.close() }
            try store.save(Habit(name: "Run"))
            try store.save(Habit(name: "Read"))
        }
        try user.want("complete")
    }

    var root: String { user.root }
    var fleet: Fleet { Fleet(root: root) }

    func stores() throws -> UserStores { try user.stores { $0.gate.cleanShadowReads = 0 } }

    /// Draws a plan written as JSON.
    func draw(_ text: String, note: (String) -> Void = { _ in }) throws -> FleetMembers {
        let path = user.folder.path("plan.json")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let (plan, issues) = try FleetPlanReader.read(path: path)
        return try fleet.draw(
            #require(plan, "\(issues)"),
            text: Data(text.utf8),
            isYAML: false,
            stores().users().users.map { (user: $0, bytes: 1) },
            by: "a test",
            note: note
        )
    }

    /// Runs the fleet, and returns its output.
    @discardableResult
    func run(
        clock: FleetClock = .machine,
        pressure: (() -> Double?)? = { nil },
        isTold: @escaping (String) -> Void = { _ in }
    ) throws -> (end: FleetEnd, told: [String]) {
        let told = Told()
        let end = try Fleet(StoreRoot(root), clock: clock).run(stores(), by: "a test", pressure: pressure) { line in
            told.lines.withLock { $0.append(line) }
            isTold(line)
        }
        return (end, told.lines.withLock { $0 })
    }

    private final class Told: Sendable {
        let lines = Mutex<[String]>([])
    }

    func stages() throws -> [String: Stage?] {
        let stores = try stores()
        return try Dictionary(uniqueKeysWithValues: users.map { ($0, try stores.status(of: $0).stage) })
    }

    /// How often the gate promoted each user.
    func promotions() throws -> [String: Int] {
        let stores = try stores()
        return try Dictionary(
            uniqueKeysWithValues: users.map { name in
                let records = try stores.evidence(of: name).read().records
                let promoted = records.count { record in
                    if case .stageChanged(_, _, _, _, .promoted, _, _) = record.event { true } else { false }
                }
                return (name, promoted)
            }
        )
    }

    static let twoWaves = """
        {"waves": [{"name": "canary", "users": 2}, {"name": "all", "percent": 100}], "lookSeconds": 0.2, "ioPressure": null}
        """
}
