import Foundation
import HabitStore
import HabitStoreRollout
import HabitTracker
import Logging
import StandardEngines

/// Users at a stage, which they reach in the regular way except for the number of shadow reads.
struct RolloutUsers {
    let root: String
    let flags: String

    init(_ directory: URL) throws {
        root = directory.path
        flags = directory.appendingPathComponent("flags.json").path
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let variants = Stage.allCases.map { "\"\($0.rawValue)\": \"\($0.rawValue)\"" }.joined(separator: ", ")
        let text = """
            {"flags": {"habit-store-stage": {"state": "ENABLED", "variants": {\(variants)}, "defaultVariant": "complete"}}}
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: flags))
    }

    func stores(
        schema: Schema = HabitSchema.current,
        followsFlags: Bool = false,
        _ change: (inout RolloutOptions) -> Void = { _ in }
    ) throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = followsFlags
        options.advancesByItself = false
        options.gate.cleanShadowReads = 0
        options.mirror.waitSeconds = 10
        options.logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        change(&options)
        return try UserStores(root: root, flags: flags, schema: schema, options: options)
    }

    /// A user's store at a stage.
    func store(_ stores: UserStores, _ user: String, at stage: Stage) throws -> UserStore {
        let store = try stores.store(for: user)
        while let next = try store.stage().next, next <= stage {
            guard let decision = try store.advance(to: next), decision.isOpen else {
                throw BenchError("the gate to \(next.rawValue) is closed")
            }
        }
        return store
    }
}
