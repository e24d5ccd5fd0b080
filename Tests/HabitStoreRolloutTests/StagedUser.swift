import FeatureFlags
import Foundation
import HabitStore
import StandardEngines

@testable import HabitStoreRollout

/// A user whose stages a test moves, with a policy of the gate that asks for little.
struct StagedUser: Sendable {
    let folder: TemporaryFolder
    let root: String
    let flags: String
    let old: EngineName
    let new: EngineName
    let engines: Engines

    /// - Parameter new: the engine that the user goes to; nil for the other one of the two that an app has without a word.
    init(old: EngineName = .sqlite, new: EngineName? = nil, engines: Engines = .standard) throws {
        folder = try TemporaryFolder()
        root = folder.path("root")
        flags = folder.path("flags.json")
        self.old = old
        self.new = new ?? old.otherStandard
        self.engines = engines
        try want("off")
    }

    /// Has the flag file want a stage for everybody.
    ///
    /// - Parameter pair: the engines that the file names; nil for the user's.
    func want(_ stage: String, of pair: EnginePair? = nil, kill: Bool = false) throws {
        let pair = pair ?? EnginePair(old: old, new: new)
        let known = engines.names.map { #""\#($0)": "\#($0)""# }.joined(separator: ", ")
        let names = Stage.allCases.map { "\"\($0.rawValue)\": \"\($0.rawValue)\"" }.joined(separator: ", ")
        let engines = #""variants": {\#(known)}"#
        try Data(
            """
            {"flags": {
              "habit-store-stage": {"state": "ENABLED", "variants": {\(names)}, "defaultVariant": "\(stage)"},
              "habit-store-old": {"state": "ENABLED", \(engines), "defaultVariant": "\(pair.old)"},
              "habit-store-new": {"state": "ENABLED", \(engines), "defaultVariant": "\(pair.new)"},
              "habit-store-kill": {
                "state": "ENABLED", "variants": {"armed": false, "killed": true},
                "defaultVariant": "\(kill ? "killed" : "armed")"
              }
            }}
            """.utf8
        ).write(to: URL(fileURLWithPath: flags))
    }

    /// The stores as a process sees them.
    func stores(
        schema: Schema = HabitSchema.current,
        _ change: (inout RolloutOptions) -> Void = { _ in }
    ) throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 3
        options.shadowReads.recordEvery = 1
        // On a machine that runs all tests at once a comparison can wait for its turn longer than a reader should.
        options.shadowReads.comparisonSeconds = 120
        options.mirror.waitSeconds = 10
        change(&options)
        return try UserStores(root: root, flags: flags, engines: engines, schema: schema, options: options)
    }

    var directory: UserDirectory { get throws { try UserDirectory(root: root, user: "alice") } }

    func address(_ side: StoreSide) throws -> StoreAddress {
        engines.address(side == .old ? old : new, of: try directory)
    }

    /// Brings a store to a stage on the regular way, with everything that the gate asks for.
    ///
    /// - Parameter reading: the reads that are the evidence.
    func bring(
        _ store: UserStore,
        to stage: Stage,
        of pair: EnginePair? = nil,
        reading: (UserStore) throws -> Void = { _ = try $0.all(Habit.self) }
    ) throws {
        try want(stage.rawValue, of: pair)
        store.flags.provider.reload()
        while let next = try store.stage().next, next <= stage {
            for _ in 0..<5 { try reading(store) }
            let decision = try store.advance(to: next)
            guard decision?.isOpen == true else {
                let reasons = decision?.reasons.map(\.description).joined(separator: "; ") ?? "nothing was decided"
                throw HabitStoreError(.unsupported, "the gate to \(next.rawValue) is closed: \(reasons)")
            }
        }
        _ = store.route.load()?.mirror?.settle(waitSeconds: 10)
    }
}
