import Foundation
import HabitStore
import HabitTracker
import RolloutTesting
import StandardEngines

@testable import HabitStoreRollout

/// A user with notes in one store and tags in another, under one root, and drafts in the one without a name.
struct TwoStores {
    let user: StagedUser
    let notes: UserStores
    let media: UserStores
    let plain: UserStores

    init() throws {
        let user = try StagedUser()
        try Self.write([:], kills: [], to: user.flags)
        self.user = user
        notes = try Self.stores(user, "notes", Schema([Draft.self]))
        media = try Self.stores(user, "media", Schema([Entry.self, Habit.self, Tag.self]))
        plain = try Self.stores(user, nil, Schema([Draft.self]))
    }

    static func stores(
        _ user: StagedUser,
        _ name: String?,
        _ schema: Schema,
        _ change: (inout RolloutOptions) -> Void = { _ in }
    ) throws -> UserStores {
        var options = RolloutOptions()
        options.logger.logLevel = .critical
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 3
        options.shadowReads.recordEvery = 1
        options.shadowReads.comparisonSeconds = 120
        options.mirror.waitSeconds = 10
        change(&options)
        return try UserStores(root: user.root, store: name, flags: user.flags, schema: schema, options: options)
    }

    var all: [UserStores] { [plain, notes, media] }

    /// Sets the stages in the flag file, by the flags' prefixes.
    func want(_ stages: [String: Stage], kills: [String] = []) throws {
        try Self.write(stages, kills: kills, to: user.flags)
        for stores in all { stores.reloadFlags() }
    }

    /// - Parameter pair: the engines of all; nil for the default ones.
    static func write(_ stages: [String: Stage], kills: [String], of pair: EnginePair? = nil, to path: String) throws {
        var values = stages.map { ("\($0)-stage", "\"\($1.rawValue)\"") } + kills.map { ("\($0)-kill", "true") }
        if let pair {
            values += stages.keys.flatMap { [("\($0)-old", "\"\(pair.old)\""), ("\($0)-new", "\"\(pair.new)\"")] }
        }
        let flags = values.map { flag, value in
            #""\#(flag)": {"state": "ENABLED", "variants": {"it": \#(value)}, "defaultVariant": "it"}"#
        }
        try Data("{\"flags\": {\(flags.sorted().joined(separator: ", "))}}".utf8).write(to: URL(fileURLWithPath: path))
    }

    /// Brings a store to `stage`, with everything that the gate asks for.
    func bring(_ store: UserStore, to stage: Stage, reading: (UserStore) throws -> Void) throws {
        while let next = try store.stage().next, next <= stage {
            for _ in 0..<5 { try reading(store) }
            let decision = try store.advance(to: next)
            guard decision?.isOpen == true else {
                let reasons = decision?.reasons.map(\.description).joined(separator: "; ") ?? "nothing was decided"
                throw HabitStoreError(.unsupported, "the gate to \(next.rawValue) is closed: \(reasons)")
            }
        }
        _ = store.waitUntilMirrorIsIdle(waitSeconds: 60)
    }

    /// Opens a user's store, runs `body` on it, and closes it.
    @discardableResult
    func with<R>(_ stores: UserStores, _ body: (UserStore) throws -> R) throws -> R {
        let store = try stores.store(for: "alice")
        defer { store.close() }
        return try body(store)
    }

    func path(_ name: String) -> String { user.root + "/" + name }
}
