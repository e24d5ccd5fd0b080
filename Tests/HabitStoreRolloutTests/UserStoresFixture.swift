import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines

@testable import HabitStoreRollout

/// A root with a flag file, for tests of switching.
struct UserStoresFixture {
    let folder: TemporaryFolder
    let flags: String
    let root: String

    init(_ engine: EngineName) throws {
        folder = try TemporaryFolder()
        flags = folder.path("flags.json")
        root = folder.path("root")
        try want(engine)
    }

    /// The stores as a new process sees them; flags are read once, and only the test moves users.
    func stores(_ change: (inout RolloutOptions) -> Void = { _ in }) throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        change(&options)
        return try UserStores(root: root, flags: flags, schema: HabitSchema.current, options: options)
    }

    /// Sets the engine that the flag file names for all users.
    func want(_ engine: EngineName) throws { try wantValue(#"{"v": "\#(engine.rawValue)"}"#, state: "ENABLED") }

    func wantValue(_ variants: String, state: String) throws {
        try writeFlags(
            """
            {"flags": {"habit-store-backend": {"state": "\(state)", "variants": \(variants), "defaultVariant": "v"}}}
            """
        )
    }

    func writeFlags(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: flags)) }

    func directory(_ user: String = "alice") throws -> UserDirectory { try UserDirectory(root: root, user: user) }

    func address(_ engine: EngineName, _ user: String = "alice") throws -> StoreAddress {
        try directory(user).address(engine)
    }

    /// Opens a user's store, runs `body` on it, and closes it.
    @discardableResult
    func with<R>(_ user: String = "alice", _ body: (UserStore) throws -> R) throws -> R {
        try stores().with(user, body)
    }

    /// Opens one of the user's files, runs `body` on it, and closes it.
    func file<R>(_ engine: EngineName, _ body: (any UserStoreBackend) throws -> R) throws -> R {
        let store = try address(engine).open(.readWrite, schema: HabitSchema.current)
        defer { store.close() }
        return try body(store)
    }

    func information(_ engine: EngineName) throws -> StoreInformation {
        try file(engine) { try $0.replicaRead { try $0.information() } }
    }

    func setRole(_ engine: EngineName, _ role: StoreRole, epoch: Int) throws {
        try file(engine) { try $0.replicate { try $0.setRole(role, epoch: epoch) } }
    }

    func names(_ store: any HabitStore) throws -> [String] { try store.all(Habit.self).map(\.name).sorted() }
}
