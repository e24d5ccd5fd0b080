import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout
import HabitTracker
import Logging
import StandardEngines

/// The root of a drill's users, and how its processes open it.
struct FleetDrillRoot {
    let path: String

    private var flags: String { path + "/flags.json" }

    /// Writes the flag file, which sends all users to `complete`.
    func make() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try StageFlags(path: flags, EnginePair(old: .sqlite, new: .lmdb)).want(.complete)
    }

    /// The stores, whose gate requires no shadow reads and no retention: a drill has no readers and cannot wait for weeks.
    func stores() throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 0
        options.gate.retentionSeconds = 0
        options.logger = Logger(label: "fleet-drill") { _ in SwiftLogNoOpLogHandler() }
        return try UserStores(
            root: path,
            flags: flags,
            engines: .standard,
            schema: HabitSchema.current,
            options: options
        )
    }

    var fleet: Fleet { Fleet(root: path) }

    /// Draws the waves of a plan.
    func draw(_ plan: String) throws -> FleetMembers {
        let file = path + "/plan.json"
        try Data(plan.utf8).write(to: URL(fileURLWithPath: file))
        let (read, issues) = try FleetPlanReader.read(path: file)
        guard let read else { throw FleetDrillFailure("the drill's plan is refused: \(issues)") }
        let stores = try stores()
        let users = try stores.users().users.map { (user: $0, bytes: try stores.storeBytes(of: $0)) }
        return try fleet.draw(read, text: Data(plan.utf8), isYAML: false, users, by: "the drill")
    }

    /// The address of a user's store.
    func address(_ engine: EngineName, of user: String) throws -> StoreAddress {
        let directory = try UserDirectory(root: path, user: user)
        return Engines.standard.address(engine, ofUser: user, inFolder: directory.path)
    }
}

/// A violation that a drill found.
struct FleetDrillFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
