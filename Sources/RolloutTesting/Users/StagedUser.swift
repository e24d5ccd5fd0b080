import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import Logging

/// A user whom a test moves between stages, with a gate policy that asks for little evidence.
package struct StagedUser: Sendable {
    /// The folder with all of the user's files.
    package let folder: TemporaryFolder
    /// The folder of all users' stores.
    package let root: String
    /// The flag file.
    package let flags: String
    /// The engine that the user leaves.
    package let old: EngineName
    /// The engine that the user moves to.
    package let new: EngineName
    /// All engines.
    package let engines: Engines

    /// Creates a user without stores; the flag file wants `off`.
    package init(_ pair: EnginePair, _ engines: Engines) throws {
        folder = try TemporaryFolder()
        root = folder.path("root")
        flags = folder.path("flags.json")
        (old, new) = (pair.old, pair.new)
        self.engines = engines
        try want("off")
    }

    /// Makes the flag file want a stage for all users.
    ///
    /// - Parameter pair: the engines in the file; nil for the user's.
    package func want(_ stage: String, of pair: EnginePair? = nil, kill: Bool = false) throws {
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

    /// Opens the stores as a process would.
    ///
    /// - Parameter flags: the origin of the flags; nil for the flag file.
    package func stores(
        schema: Schema = HabitSchema.current,
        flags origin: FlagOrigin? = nil,
        _ change: (inout RolloutOptions) -> Void = { _ in }
    ) throws -> UserStores {
        var options = RolloutOptions()
        // Checks report failures themselves.
        options.logger.logLevel = .critical
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 3
        options.shadowReads.recordEvery = 1
        // On a machine that runs all tests together, a comparison can wait longer than a reader should.
        options.shadowReads.comparisonSeconds = 120
        options.mirror.waitSeconds = 10
        change(&options)
        return try UserStores(
            root: root,
            flags: origin ?? .file(flags),
            engines: engines,
            schema: schema,
            options: options
        )
    }

    package var directory: UserDirectory { get throws { try UserDirectory(root: root, user: "alice") } }

    /// The address of one of the two stores, even if it does not exist.
    package func address(_ side: StoreSide) throws -> StoreAddress {
        engines.address(side == .old ? old : new, ofUser: "alice", inFolder: try directory.path)
    }

    /// Opens one of the two stores without the rollout, as another program would.
    package func withStore<R>(
        _ side: StoreSide,
        _ access: StoreAccess = .readOnly,
        _ body: (any UserStoreBackend) throws -> R
    ) throws -> R {
        let store = try engines.open(try address(side), access, schema: HabitSchema.current)
        defer { store.close() }
        return try body(store)
    }

    /// Brings a store to a stage through the gate, with all the evidence that it asks for.
    ///
    /// - Parameter reading: makes the shadow reads for the evidence.
    package func bring(
        _ store: UserStore,
        to stage: Stage,
        of pair: EnginePair? = nil,
        reading: (UserStore) throws -> Void = { _ = try $0.all(Habit.self) }
    ) throws {
        try want(stage.rawValue, of: pair)
        store.reloadFlags()
        while let next = try store.stage().next, next <= stage {
            for _ in 0..<5 { try reading(store) }
            let decision = try store.advance(to: next)
            guard decision?.isOpen == true else {
                let reasons = decision?.reasons.map(\.description).joined(separator: "; ") ?? "nothing was decided"
                throw HabitStoreError(.unsupported, "the gate to \(next.rawValue) is closed: \(reasons)")
            }
        }
        _ = store.settleMirror(waitSeconds: 60)
    }
}
