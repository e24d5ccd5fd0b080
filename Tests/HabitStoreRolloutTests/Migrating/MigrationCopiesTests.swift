import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A migration leaves a copy of the store next to it, and nothing ever listed or removed those copies: users' folders grew with each version.
@Suite("Copies of before migrations")
struct MigrationCopiesTests {
    private typealias V1 = HabitSchemaV1

    private let user: StagedUser
    private let stores: UserStores

    init() throws {
        user = try StagedUser()
        let old = try user.stores(schema: V1.schema).store(for: "alice")
        try old.write(author: "app") { try $0.insert(V1.Habit(id: UUID(), name: "Run", tags: "outdoors")) }
        old.close()
        stores = try user.stores { $0.migrationPlan = HabitMigrationPlan.self }
        try stores.store(for: "alice").close()
    }

    private var path: String { get throws { try user.address(.old).path } }

    private func age(_ path: String, days: Double) throws {
        let date = Date(timeIntervalSinceNow: -days * 24 * 3_600)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }

    @Test func aCopyIsListedAndRemovedOnceItIsOldEnough() throws {
        let copies = try stores.migrationCopies(of: "alice")
        let copy = try #require(copies.first)
        #expect(copies.count == 1)
        #expect(copy.engine == .sqlite && copy.version == .init(2, 0, 0) && copy.sizeBytes > 0)
        #expect(try copy.path == "\(path)-2.0.0-at-\(copy.token)")
        #expect(copy.neededBecause == nil)
        #expect(try stores.removeMigrationCopies(of: "alice").isEmpty)
        try age(copy.path, days: 29)
        #expect(try stores.removeMigrationCopies(of: "alice").isEmpty)
        try age(copy.path, days: 31)
        #expect(try stores.removeMigrationCopies(of: "alice").map(\.path) == [copy.path])
        #expect(!FileManager.default.fileExists(atPath: copy.path))
        let store = try stores.store(for: "alice")
        defer { store.close() }
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
    }

    /// The copy may contain the only records left.
    @Test func aCopyIsKeptWhereNoStoreIsOfALaterVersion() throws {
        let copy = try #require(try stores.migrationCopies(of: "alice").first).path
        let present = "\(try path)-\(HabitSchema.current.version)-at-9"
        try FileManager.default.copyItem(atPath: copy, toPath: present)
        #expect(try stores.removeMigrationCopies(of: "alice", olderThanSeconds: 0).map(\.path) == [copy])
        #expect(try stores.migrationCopies(of: "alice").map { $0.neededBecause != nil } == [true])
        try FileManager.default.copyItem(atPath: present, toPath: copy)
        try Data(repeating: 0xA5, count: 8_192).write(to: URL(fileURLWithPath: path))
        #expect(try stores.migrationCopies(of: "alice").allSatisfy { $0.neededBecause != nil })
        #expect(try stores.removeMigrationCopies(of: "alice", olderThanSeconds: 0).isEmpty)
    }

    @Test func nothingElseIsTakenForACopy() throws {
        let copy = try #require(try stores.migrationCopies(of: "alice").first).path
        for suffix in ["-2.0.0-aside", "-2.0.0-at-", "-2.0.0-at-x", "-x-at-7", "-2.0.0-at-7-draft", "x-2.0.0-at-7"] {
            try FileManager.default.copyItem(atPath: copy, toPath: try path + suffix)
        }
        try FileManager.default.createDirectory(atPath: "\(path)-2.0.0-at-8", withIntermediateDirectories: false)
        #expect(try stores.migrationCopies(of: "alice").map(\.path) == [copy])
        #expect(throws: HabitStoreError.self) { try stores.migrationCopies(of: "nobody") }
        #expect(try stores.users().users == ["alice"])
    }
}
