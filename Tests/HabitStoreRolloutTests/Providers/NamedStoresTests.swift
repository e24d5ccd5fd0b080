import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import HabitStorePostgres
import HabitStoreSQLite
import HabitTracker
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A user with some entities in one store and others in another could not have both under one root: both had the same flags.
struct NamedStoresTests {
    private static let folder = "users/u-616c696365"

    @Test func twoStoresOfAUserAreAtStagesOfTheirOwn() throws {
        let two = try TwoStores()
        try two.want(["notes-store": .live, "media-store": .dualwrite])
        let (notes, media) = (try two.notes.store(for: "alice"), try two.media.store(for: "alice"))
        defer { for store in [notes, media] { store.close() } }
        // One process uses both, in turn.
        for number in 0..<6 {
            try notes.save(Draft(content: "note \(number)"))
            try media.save(Tag(name: "tag \(number)"))
            if number == 1 { try notes.passGates(to: .live) { _ = try $0.all(Draft.self) } }
            if number == 3 { try media.passGates(to: .dualwrite) { _ = try $0.all(Tag.self) } }
        }
        #expect(try notes.stage() == .live && media.stage() == .dualwrite)
        #expect(try notes.engine() == .lmdb && media.engine() == .sqlite)
        #expect(try notes.all(Draft.self).count == 6 && media.all(Tag.self).count == 6)
        #expect(try two.notes.status(of: "alice").wanted == .live && two.media.status(of: "alice").wanted == .dualwrite)
        // Each has its own evidence.
        let (first, second) = (try two.notes.evidence(of: "alice"), try two.media.evidence(of: "alice"))
        #expect(first.path == two.path("stores/notes/\(Self.folder)/evidence.jsonl"))
        #expect(try first.read().records.contains { if case .rehearsed = $0.event { true } else { false } })
        #expect(try !second.read().records.contains { if case .rehearsed = $0.event { true } else { false } })
        #expect(try two.notes.verifyEvidence(of: "alice").isWhole && two.media.verifyEvidence(of: "alice").isWhole)
        // None of it is in the default store.
        #expect(try two.notes.users().users == ["alice"] && two.plain.users().users.isEmpty)
    }

    @Test func storesWithoutANameAreWhereTheyWere() throws {
        let two = try TwoStores()
        try two.plain.with { try $0.save(Draft(content: "one")) }
        #expect(FileManager.default.fileExists(atPath: two.path("\(Self.folder)/store.sqlite")))
        #expect(!FileManager.default.fileExists(atPath: two.path("stores")))
        #expect(StoreRoot(two.user.root).flags == .standard)
        let keys = RolloutFlagKeys.standard
        #expect(
            [keys.stage, keys.old, keys.new, keys.kill, keys.backend]
                == [RolloutFlags.stage, RolloutFlags.old, RolloutFlags.new, RolloutFlags.kill, RolloutFlags.backend]
        )
    }

    @Test func aKillOfOneStoreByItsFlagLeavesTheOthers() throws {
        let two = try TwoStores()
        try two.want(["habit-store": .live, "notes-store": .live, "media-store": .shadow])
        let opened = try two.all.map { try $0.store(for: "alice") }
        defer { for store in opened { store.close() } }
        try opened[0].passGates(to: .live) { _ = try $0.all(Draft.self) }
        try opened[1].passGates(to: .live) { _ = try $0.all(Draft.self) }
        try opened[2].passGates(to: .shadow) { _ = try $0.all(Tag.self) }
        try two.want(["habit-store": .live, "notes-store": .live, "media-store": .shadow], kills: ["notes-store"])
        #expect(try opened.map { try $0.stage() } == [.live, .off, .shadow])
        #expect(try opened.map { try $0.applyKill() } == [false, true, false])
        // The reverse: the flag of the stores without a name applies only to them.
        try two.want(["habit-store": .live, "media-store": .shadow], kills: ["habit-store"])
        #expect(try opened.map { try $0.applyKill() } == [true, true, false])
        #expect(try opened[1].rearm(by: "a test"))
        #expect(try opened.map { try $0.applyKill() } == [true, false, false])
    }

    @Test func theSentinelFileOfTheRootKillsAllStoresAndIsRemembered() throws {
        let two = try TwoStores()
        try two.want(["notes-store": .live, "media-store": .shadow])
        let opened = try two.all.map { try $0.store(for: "alice") }
        defer { for store in opened { store.close() } }
        try opened[1].passGates(to: .live) { _ = try $0.all(Draft.self) }
        try opened[2].passGates(to: .shadow) { _ = try $0.all(Tag.self) }
        let sentinel = try SentinelFile(path: RolloutFlags.sentinelPath(root: two.user.root))
        try sentinel.create()
        // One store sees the sentinel file, which is gone before any other store checks: the kill applies to all the same.
        two.notes.reloadFlags()
        #expect(try opened[1].applyKill() && opened[1].stage() == .off)
        _ = try sentinel.remove()
        for stores in two.all { stores.reloadFlags() }
        #expect(try opened.map { try $0.applyKill() } == [true, true, true])
        #expect(try opened.map { try $0.stage() } == [.off, .off, .off])
        // It also applies to users opened later.
        let fresh = try TwoStores.stores(two.user, "media", Schema([Entry.self, Habit.self, Tag.self])).store(
            for: "berta"
        )
        defer { fresh.close() }
        #expect(try fresh.applyKill())
        // The stores without a name re-arm the root, and then each store re-arms its user.
        #expect(throws: HabitStoreError.self) { try two.notes.rearmRoot() }
        #expect(throws: HabitStoreError.self) { try opened[1].rearm(by: "a test") }
        #expect(try two.plain.rearmRoot())
        #expect(try opened.map { try $0.rearm(by: "a test") } == [true, true, true])
        #expect(try opened.map { try $0.applyKill() } == [false, false, false])
    }

    @Test func theSentinelFileOfOneStoreKillsThatAlone() throws {
        let two = try TwoStores()
        let opened = try two.all.map { try $0.store(for: "alice") }
        defer { for store in opened { store.close() } }
        let sentinel = try SentinelFile(path: RolloutFlags.sentinelPath(root: two.path("stores/notes")))
        try sentinel.create()
        for stores in two.all { stores.reloadFlags() }
        #expect(try opened.map { try $0.applyKill() } == [false, true, false])
        #expect(throws: HabitStoreError.self) { try two.notes.rearmRoot() }
        _ = try sentinel.remove()
        #expect(try two.notes.rearmRoot())
        #expect(try opened[1].rearm(by: "a test"))
        #expect(try opened.map { try $0.applyKill() } == [false, false, false])
    }

    @Test(arguments: [0, 1, 2]) func anErasureReachesAllStores(_ by: Int) throws {
        let two = try TwoStores()
        for stores in [two.notes, two.media] {
            try stores.with { store in
                guard stores === two.media else { return try store.save(Draft(content: "a secret")) }
                try store.save(Tag(name: "a secret"))
            }
        }
        let backup = try two.notes.backUp("alice", to: two.user.folder.path("backup")).backup
        let stores = two.all[by]
        let dry = try stores.erase("alice", isDry: true)
        for name in ["notes", "media"] {
            #expect(dry.items.contains { $0.place == two.path("stores/\(name)/\(Self.folder)/store.sqlite") })
        }
        let outcome = try stores.erase("alice")
        #expect(outcome.isDone && Set(outcome.items) == Set(dry.items))
        #expect(!FileManager.default.fileExists(atPath: backup.path))
        for stores in two.all {
            #expect(try stores.users().users.isEmpty)
            #expect { try stores.erase("alice") } throws: { ($0 as? HabitStoreError)?.code == .notFound }
        }
        let left = FileManager.default.enumerator(atPath: two.user.root)?.compactMap { $0 as? String } ?? []
        #expect(!left.contains { $0.contains("616c696365") })
    }

    /// The erasure was refused for the last of three stores, after the first two had been removed.
    @Test func anErasureThatIsRefusedForOneStoreRemovesNothingOfAnyOther() throws {
        let two = try TwoStores()
        try two.notes.with { try $0.save(Draft(content: "kept")) }
        try two.media.with { try $0.save(Tag(name: "kept")) }
        let backup = try two.notes.backUp("alice", to: two.user.folder.path("backup")).backup
        let open = try two.media.store(for: "alice")
        #expect { try two.notes.erase("alice") } throws: { ($0 as? HabitStoreError)?.code == .busy }
        #expect(FileManager.default.fileExists(atPath: backup.path))
        var kept: [String] = []
        try two.notes.with { kept = try $0.all(Draft.self).map(\.content) }
        #expect(kept == ["kept"])
        open.close()
        #expect(try two.notes.erase("alice").isDone)
    }

    @Test func aBackupGoesBackToTheStoreWhoseItIs() throws {
        let two = try TwoStores()
        try two.notes.with { try $0.save(Draft(content: "kept")) }
        try two.plain.with { try $0.save(Draft(content: "another")) }
        let path = two.user.folder.path("backup")
        let backup = try two.notes.backUp("alice", to: path).backup
        #expect(backup.manifest.store == "notes")
        try two.notes.with { try $0.save(Draft(content: "later")) }
        for stores in [two.plain, two.media] {
            let error = #expect(throws: HabitStoreError.self) {
                try stores.restore(backup, replacing: true, by: "a test", because: "it was lost")
            }
            #expect(error?.code == .invalidValue && error?.message.contains("the backup is of the store notes") == true)
        }
        _ = try two.notes.restore(try UserBackup(path: path), replacing: true, by: "a test", because: "it was lost")
        #expect(try two.notes.with { try $0.all(Draft.self).map(\.content) } == ["kept"])
        #expect(try two.plain.with { try $0.all(Draft.self).map(\.content) } == ["another"])
        // The same for a backup of the stores without a name, whose manifest names none.
        let plain = try two.plain.backUp("alice", to: two.user.folder.path("plain")).backup
        #expect(plain.manifest.store == nil)
        #expect(throws: HabitStoreError.self) { try two.notes.restore(plain, by: "a test", because: "it was lost") }
    }

    @Test(arguments: [
        "", "habit", "Notes", "notes/", "..", "my notes", "-a", "a-", "9", "nötes", String(repeating: "a", count: 33),
        "a\0b",
    ])
    func aNameThatCannotBeIsRefusedInOneLine(_ name: String) throws {
        let user = try StagedUser()
        let error = #expect(throws: HabitStoreError.self) {
            try UserStores(root: user.root, store: name, flags: user.flags, schema: Schema([Draft.self]))
        }
        #expect(error?.code == .invalidValue && error?.description.contains("\n") == false)
        #expect(!FileManager.default.fileExists(atPath: user.root + "/stores"))
    }

    @Test(arguments: ["a", "notes", "media-2", String(repeating: "a", count: 32)])
    func aNameThatCanBeIsTaken(_ name: String) throws {
        #expect(StoreRoot("/r", try StoreName(name)).path == "/r/stores/\(name)")
    }

    /// A server has no folders: two stores of one user have different names there, and so do those of a user whose id looks like a store's name.
    @Test func storesOnAServerAreToldApart() throws {
        let engines = try Engines([SQLiteProvider(), PostgresProvider(server: "postgresql://db/habits")])
        func place(_ store: String?, _ user: String, copy: String? = nil) -> String {
            let named = engines.naming(store)
            return (copy.map { named.copied(as: $0) } ?? named).address(.postgres, ofUser: user, inFolder: "/f").path
        }
        let places = [
            place(nil, "alice"), place("notes", "alice"), place("media", "alice"), place(nil, "alice\u{1F}store-notes"),
            place("notes", "alice\u{1F}store-notes"), place(nil, "alice", copy: "x"),
            place("notes", "alice", copy: "x"),
        ]
        #expect(Set(places).count == places.count)
        #expect(engines.naming("notes").address(.sqlite, ofUser: "alice", inFolder: "/f").path == "/f/store.sqlite")
    }
}
