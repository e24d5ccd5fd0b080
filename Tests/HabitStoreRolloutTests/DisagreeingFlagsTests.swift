import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A flag file that exchanged `habit-store-old` and `habit-store-new` sent a killed user back to the killed engine without a re-arm, and two
/// processes with different files moved a user at every operation.
struct DisagreeingFlagsTests {
    private func flags(_ user: StagedUser, old: EngineName) throws -> String {
        let path = user.folder.path("other-\(old.rawValue).json")
        let text = try String(contentsOfFile: user.flags, encoding: .utf8)
        let exchanged = text.replacingOccurrences(
            of:
                #""habit-store-old": {"state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}, "defaultVariant": "\#(user.old.rawValue)""#,
            with:
                #""habit-store-old": {"state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}, "defaultVariant": "\#(old.rawValue)""#
        ).replacingOccurrences(
            of:
                #""habit-store-new": {"state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}, "defaultVariant": "\#(user.old.otherStandard.rawValue)""#,
            with:
                #""habit-store-new": {"state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}, "defaultVariant": "\#(old.otherStandard.rawValue)""#
        )
        #expect(exchanged != text)
        try Data(exchanged.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func stores(_ user: StagedUser, flags: String) throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        return try UserStores(root: user.root, flags: flags, schema: HabitSchema.current, options: options)
    }

    @Test func aKilledUserStaysOnTheEngineThatTheKillLedTo() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        try store.save(Draft(content: "one"))
        try user.bring(store, to: .live) { _ = try $0.all(Draft.self) }
        try user.want("live", kill: true)
        store.files.context.flags.provider.reload()
        #expect(try store.engine() == .sqlite)
        store.close()
        try user.want("off")
        let other = try stores(user, flags: try flags(user, old: .lmdb)).store(for: "alice")
        defer { other.close() }
        #expect(try other.engine() == .sqlite)
        try other.save(Draft(content: "two"))
        #expect(try other.applyKill())
        #expect(try other.engine() == .sqlite)
        #expect(other.notes.contains { $0.contains("the user was killed and is not taken to lmdb") })
    }

    @Test func filesThatDisagreeMoveAUserOnceAtMost() throws {
        let user = try StagedUser()
        let first = try user.stores().store(for: "alice")
        defer { first.close() }
        try first.save(Draft(content: "one"))
        let second = try stores(user, flags: try flags(user, old: .lmdb)).store(for: "alice")
        defer { second.close() }
        let epoch = first.files.leases.load()?.actual.epoch
        for number in 0..<6 {
            try first.save(Draft(content: "first \(number)"))
            try second.save(Draft(content: "second \(number)"))
        }
        let moved = try #require(first.files.leases.load()?.actual.epoch)
        #expect(moved <= (epoch ?? 0) + 1)
        #expect(first.notes.contains { $0.contains("flag files disagree") })
        #expect(try first.fetchCount(FetchDescriptor<Draft>()) == 13)
        // A file whose content changes takes effect.
        try user.want("dualwrite")
        first.files.context.flags.provider.reload()
        _ = try first.stage()
        #expect(first.files.leases.load()?.actual.state.engines.old == .sqlite)
    }
}
