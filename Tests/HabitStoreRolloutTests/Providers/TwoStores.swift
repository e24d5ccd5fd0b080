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
        var options = RolloutOptions.staged
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

    func path(_ name: String) -> String { user.root + "/" + name }
}
