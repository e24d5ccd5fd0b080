import Foundation
import HabitStore
import HabitStoreFleet
import HabitStoreRollout
import HabitTracker
import Logging
import StandardEngines

/// The root of a drill's users, and what its processes open it with.
struct FleetDrillRoot {
    let path: String

    private var flags: String { path + "/flags.json" }

    /// Writes the flag file, which wants everybody at the end of the way.
    func make() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try StageFlags(path: flags, EnginePair(old: .sqlite, new: .lmdb)).want(.complete)
    }

    /// The stores, whose gate asks for no shadow reads and no retention: nobody reads in a drill, and nobody waits for weeks.
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

    /// Draws a plan's waves.
    func draw(_ plan: String) throws -> FleetMembers {
        let file = path + "/plan.json"
        try Data(plan.utf8).write(to: URL(fileURLWithPath: file))
        let (read, issues) = try FleetPlanReader.read(path: file)
        guard let read else { throw FleetDrillFailure("the drill's plan is refused: \(issues)") }
        let stores = try stores()
        let users = try stores.users().users.map { (user: $0, bytes: try stores.storeBytes(of: $0)) }
        return try fleet.draw(read, text: Data(plan.utf8), isYAML: false, users, by: "the drill")
    }

    /// Where a user's store of an engine is.
    func address(_ engine: EngineName, of user: String) throws -> StoreAddress {
        let directory = try UserDirectory(root: path, user: user)
        return Engines.standard.address(engine, ofUser: user, inFolder: directory.path)
    }
}

/// What a drill found that must not be.
struct FleetDrillFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
