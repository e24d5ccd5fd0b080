import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Inspecting a misspelt user created a folder and a store, and inspecting an erased one brought the user back.
struct ExistingStoreTests {
    private func expectNoSuchUser(_ body: () throws -> Void) {
        let error = #expect(throws: HabitStoreError.self) { try body() }
        #expect(error?.code == .notFound)
        #expect(error?.underlying is NoSuchUser)
        #expect(error?.description.contains("alcie") == false)
    }

    @Test func nothingIsMadeForAUserWhoIsNotThere() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let stores = try fixture.stores()
        expectNoSuchUser { _ = try stores.existingStore(for: "alcie") }
        #expect(!FileManager.default.fileExists(atPath: fixture.root))
        try fixture.with { try $0.save(Habit(name: "Run")) }
        expectNoSuchUser { _ = try stores.existingStore(for: "alcie") }
        #expect(try stores.users().users == ["alice"])
    }

    @Test func aUserWhoIsThereIsOpenedAsEver() throws {
        let fixture = try UserStoresFixture(.sqlite)
        try fixture.with { try $0.save(Habit(name: "Run")) }
        try fixture.want(.lmdb)
        let store = try fixture.stores().existingStore(for: "alice")
        defer { store.close() }
        #expect(try store.engine() == .lmdb)
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
    }

    @Test func anErasedUserIsNotBroughtBack() throws {
        let fixture = try UserStoresFixture(.sqlite)
        try fixture.with { try $0.save(Habit(name: "Run")) }
        let stores = try fixture.stores()
        _ = try stores.erase("alice")
        expectNoSuchUser { _ = try stores.existingStore(for: "alice") }
        #expect(!FileManager.default.fileExists(atPath: try fixture.directory().path))
    }

    /// A folder without store files is not a user either: a new empty store would pass for all of the user's data.
    @Test func aFolderWithoutStoresGetsNone() throws {
        let fixture = try UserStoresFixture(.sqlite)
        try fixture.with { try $0.save(Habit(name: "Run")) }
        let folder = try fixture.directory().path
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix("store.") {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        let before = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        expectNoSuchUser { _ = try fixture.stores().existingStore(for: "alice") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == before)
    }

    /// The user can still be created and written to, also by the process that looked for it in vain.
    @Test func theUserCanStillBegin() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let stores = try fixture.stores()
        expectNoSuchUser { _ = try stores.existingStore(for: "alcie") }
        let store = try stores.store(for: "alcie")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        #expect(try stores.existingStore(for: "alcie") === store)
    }
}
