import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A process that is killed while it creates a SQLite file leaves one that is not a store yet; an LMDB file appears as a whole.
///
/// What broke: a crash sweep found a user whose mirror's file had only been started. The gate asked that file for its token, and threw; the user
/// could never go forward again. A new user in the same state could not be opened at all. Now the next process that needs the file finishes it, and
/// any other file that is not a store is still refused.
struct UnfinishedStoreTests {
    @Test func aNewUsersFirstStoreIsFinished() throws {
        let user = try StagedUser(old: .sqlite)
        try user.directory.make()
        try Data().write(to: URL(fileURLWithPath: try user.address(.old).path))
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        #expect(try store.engine() == .sqlite)
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
    }

    @Test func aMirrorIsFinishedAndTheUserGoesForward() throws {
        let user = try StagedUser(old: .lmdb)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try Data().write(to: URL(fileURLWithPath: try user.address(.new).path))
        try user.bring(store, to: .live)
        #expect(try store.engine() == .sqlite)
        #expect(try store.all(Habit.self).map(\.name) == ["Run"])
    }

    @Test(arguments: EngineName.standard, StoreSide.allCases)
    func aFileOfAnotherKindIsRefusedAndLeftAsItIs(engine: EngineName, side: StoreSide) throws {
        let user = try StagedUser(old: engine)
        try user.directory.make()
        let path = try user.address(side).path
        let garbage = Data(repeating: 0x5A, count: 50_000)
        try garbage.write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: HabitStoreError.self) { _ = try user.stores().store(for: "alice") }
        #expect(error?.code == .notAStore)
        #expect(FileManager.default.contents(atPath: path) == garbage)
        #expect(!FileManager.default.fileExists(atPath: try user.address(side.other).path))
    }
}
