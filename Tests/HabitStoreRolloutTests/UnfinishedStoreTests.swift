import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A process that is killed while it makes a SQLite file leaves one that is no store yet; LMDB's appears as a whole.
///
/// What broke: a crash sweep came upon a user whose mirror's file was begun and no more. The gate asked that file how far it
/// was, and threw; the user could never go forward again. A new user in the same place could not be opened at all. Now the
/// file is finished by whoever needs it next, and anything else that is no store is still refused.
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
