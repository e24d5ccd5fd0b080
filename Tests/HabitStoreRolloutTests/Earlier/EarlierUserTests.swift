import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Users' folders as earlier versions left them. An app may be updated while its users are at any stage, killed, or in the middle of a move after a
/// crash. Their evidence does not count here, because an archive is a copy.
struct EarlierUserTests {
    @Test(arguments: EarlierUser.staged)
    func theyAreTakenUpWhereTheyAreAndKilled(earlier: EarlierUser) throws {
        let user = try earlier.unpacked()
        try user.want(earlier.stage.rawValue)
        let stores = try user.stores()
        let status = try stores.status(of: "alice")
        #expect(status.stage == earlier.stage)
        #expect(status.problems.isEmpty)
        #expect(status.evidence.isIntact)
        #expect(try stores.examine("alice").isEmpty)
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.stage() == earlier.stage)
        try earlier.expectEverything(in: store)
        try store.save(Draft(content: "of this version"))
        try earlier.expectEverything(in: store, and: ["of this version"])
        try user.want(earlier.stage.rawValue, kill: true)
        store.files.context.flags.provider.reload()
        #expect(try store.applyKill())
        #expect(try store.stage() == .off)
        #expect(try store.engine() == earlier.old)
        try earlier.expectEverything(in: store, and: ["of this version"])
        try store.save(Draft(content: "and after the kill"))
        try earlier.expectEverything(in: store, and: ["of this version", "and after the kill"])
    }

    @Test(arguments: EarlierUser.staged.filter { $0.stage != .complete })
    func theyGoForwardWithProof(earlier: EarlierUser) throws {
        let user = try earlier.unpacked()
        try user.want(earlier.stage.rawValue)
        let store = try user.stores().store(for: "alice")
        let next = try #require(earlier.stage.next)
        try user.bring(store, to: next)
        try expectToGoOn(earlier, user, store, at: next)
    }

    @Test(arguments: EarlierUser.staged.filter { $0.stage != .off })
    func theyGoBack(earlier: EarlierUser) throws {
        let user = try earlier.unpacked()
        let before = try #require(Stage.allCases.last { $0 < earlier.stage })
        try user.want(earlier.stage.rawValue)
        let store = try user.stores().store(for: "alice")
        #expect(try store.stage() == earlier.stage)
        try user.want(before.rawValue)
        store.files.context.flags.provider.reload()
        // Flags alone take no user back whose old store no longer follows.
        if earlier.stage == .complete { try store.demote() }
        try expectToGoOn(earlier, user, store, at: before)
    }

    @Test(arguments: EarlierUser.killed)
    func whoWasKilledStaysUntilTheReArm(earlier: EarlierUser) throws {
        let user = try earlier.unpacked()
        try user.want("complete")
        let stores = try user.stores()
        let store = try stores.store(for: "alice")
        #expect(try store.stage() == .off)
        #expect(try store.engine() == earlier.old)
        try earlier.expectEverything(in: store)
        #expect(try store.advance()?.reasons.contains(.killed) == true)
        try FileManager.default.removeItem(atPath: user.root + "/habit-store.kill")
        stores.reloadFlags()
        #expect(try store.advance()?.reasons.contains(.killed) == true)
        #expect(try stores.rearmRoot())
        #expect(try store.rearm(by: "a test"))
        try user.bring(store, to: .dualwrite)
        try expectToGoOn(earlier, user, store, at: .dualwrite)
    }

    @Test(arguments: EarlierUser.moving, [Stage.live, .dualwrite])
    func aMoveThatDiedHalfWayIsSettled(earlier: EarlierUser, target: Stage) throws {
        let user = try earlier.unpacked()
        try user.want("live")
        let stores = try user.stores()
        #expect(try stores.examine("alice").map(\.kind) == [.noneAuthoritative])
        let store = try stores.store(for: "alice")
        #expect(try [.shadow, .live].contains(store.stage()))
        #expect(try stores.examine("alice").isEmpty)
        try earlier.expectEverything(in: store)
        if target == .live { try user.bring(store, to: .live) }
        try user.want(target.rawValue)
        store.files.context.flags.provider.reload()
        try expectToGoOn(earlier, user, store, at: target)
    }

    /// A user's stores are moved and killed one by one.
    @Test(arguments: EarlierUser.named) func eachOfSeveralStoresGoesOn(earlier: EarlierUser) throws {
        let user = try earlier.unpacked()
        func want(_ stages: [String: Stage], kills: [String] = []) throws {
            let pair = EnginePair(old: user.old, new: user.new)
            try TwoStores.write(stages, kills: kills, of: pair, to: user.flags)
        }
        try want(["habit-store": .live, "notes-store": .dualwrite])
        let stores = try [nil, "notes"].map { try TwoStores.stores(user, $0, HabitSchema.current) }
        let opened = try stores.map { try $0.store(for: "alice") }
        defer { for store in opened { store.close() } }
        let (store, notes) = (opened[0], opened[1])
        func texts() throws -> [String] { try notes.all(Draft.self).map(\.content).sorted() }
        #expect(try opened.map { try $0.stage() } == [.live, .dualwrite])
        #expect(try texts() == (1...4).map { "note \($0)" })
        try want(["habit-store": .live, "notes-store": .shadow], kills: ["habit-store"])
        for stores in stores { stores.reloadFlags() }
        #expect(try opened.map { try $0.applyKill() } == [true, false])
        #expect(try notes.advance(to: .shadow)?.isOpen == true)
        #expect(try opened.map { try $0.stage() } == [.off, .shadow])
        try earlier.expectEverything(in: store)
        try notes.save(Draft(content: "note 5"))
        #expect(try texts() == (1...5).map { "note \($0)" })
    }

    @Test(arguments: EarlierUser.kept) func aBackupIsRestored(earlier: EarlierUser) throws {
        let user = try earlier.unpacked()
        try user.want("live")
        let path = user.folder.path("backup")
        try FileManager.default.moveItem(atPath: user.root + "/backup", toPath: path)
        let stores = try user.stores()
        _ = try stores.restore(try UserBackup(path: path), by: "a test", because: "the machine was lost")
        let store = try stores.store(for: "alice")
        #expect(try store.stage() == .live)
        try expectToGoOn(earlier, user, store, at: .live)
    }

    /// Expects all data at a stage, then writes, and expects the write in each store that the stage writes to.
    private func expectToGoOn(
        _ earlier: EarlierUser,
        _ user: StagedUser,
        _ store: UserStore,
        at stage: Stage,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try store.stage() == stage, sourceLocation: sourceLocation)
        try earlier.expectEverything(in: store, sourceLocation: sourceLocation)
        try store.save(Draft(content: "later"))
        try earlier.expectEverything(in: store, and: ["later"], sourceLocation: sourceLocation)
        _ = store.files.leases.load()?.mirror?.waitUntilIdle(waitSeconds: 60)
        store.close()
        for side in [stage.authority] + (stage.mirror.map { [$0] } ?? []) {
            let one = try user.address(side).open(.readOnly, schema: HabitSchema.current)
            defer { one.close() }
            try earlier.expectEverything(in: one, and: ["later"], sourceLocation: sourceLocation)
        }
    }
}
