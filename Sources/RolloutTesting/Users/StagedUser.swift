import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import Logging

/// A user whose stages a test moves, with a policy of the gate that asks for little.
package struct StagedUser: Sendable {
    /// Where everything of the user is.
    package let folder: TemporaryFolder
    /// The root of all users.
    package let root: String
    /// The flag file.
    package let flags: String
    /// The engine that the user comes from.
    package let old: EngineName
    /// The engine that the user goes to.
    package let new: EngineName
    /// The engines that there are.
    package let engines: Engines

    /// A user of whom there is nothing yet; the flag file wants `off`.
    package init(_ pair: EnginePair, _ engines: Engines) throws {
        folder = try TemporaryFolder()
        root = folder.path("root")
        flags = folder.path("flags.json")
        (old, new) = (pair.old, pair.new)
        self.engines = engines
        try want("off")
    }

    /// Has the flag file want a stage for everybody.
    ///
    /// - Parameter pair: the engines that the file names; nil for the user's.
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

    /// The stores as a process sees them.
    ///
    /// - Parameter flags: where the flags are; nil for the flag file.
    package func stores(
        schema: Schema = HabitSchema.current,
        flags origin: FlagOrigin? = nil,
        _ change: (inout RolloutOptions) -> Void = { _ in }
    ) throws -> UserStores {
        var options = RolloutOptions()
        // What fails is told by whoever finds it.
        options.logger.logLevel = .critical
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 3
        options.shadowReads.recordEvery = 1
        // On a machine that runs all tests at once a comparison can wait for its turn longer than a reader should.
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

    /// The user's folder.
    package var directory: UserDirectory { get throws { try UserDirectory(root: root, user: "alice") } }

    /// Where one of the two stores is, or would be.
    package func address(_ side: StoreSide) throws -> StoreAddress {
        engines.address(side == .old ? old : new, ofUser: "alice", inFolder: try directory.path)
    }

    /// Lends one of the two stores past the rollout, as what else opens it sees it.
    package func withStore<R>(
        _ side: StoreSide,
        _ access: StoreAccess = .readOnly,
        _ body: (any UserStoreBackend) throws -> R
    ) throws -> R {
        let store = try engines.open(try address(side), access, schema: HabitSchema.current)
        defer { store.close() }
        return try body(store)
    }

    /// Brings a store to a stage on the regular way, with everything that the gate asks for.
    ///
    /// - Parameter reading: the reads that are the evidence.
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
