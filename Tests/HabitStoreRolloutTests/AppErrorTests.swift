import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// An error that an app throws, or a value that its newer version stored, does not mean that the file is damaged.
///
/// The rollout looked only at the error's code: a closure that threw `.corrupt` because of its own file, or one record with an enum case of a newer
/// version, moved the user from `live` to `off`.
struct AppErrorTests {
    @Test(arguments: EngineName.standard, [HabitStoreError.Code.corrupt, .notAStore, .unreadableValue])
    func anErrorThatAClosureThrowsMovesNobody(old: EngineName, code: HabitStoreError.Code) throws {
        let user = try StagedUser(old: old)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .live)
        let path = try #require(store.files.leases.load()?.authority.path)
        for error in [HabitStoreError(code, "the app's"), HabitStoreError(code, "the app's", at: .init(path: path))] {
            let read = #expect(throws: HabitStoreError.self) { try store.read { _ in throw error } }
            #expect(read?.code == code)
            #expect(throws: HabitStoreError.self) { try store.write { _ in throw error } }
            #expect(try store.stage() == .live)
        }
        #expect(try store.all(Habit.self).count == 2)
        #expect(try store.stage() == .live)
    }

    /// A closure may also read another store; damage in that store is not damage of the user's.
    @Test(arguments: EngineName.standard)
    func damageOfAnotherStoreMovesNobody(old: EngineName) throws {
        let user = try StagedUser(old: old)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try SampleRecords.fill(store)
        try user.bring(store, to: .live)
        let damage = HabitStoreError.damage("the other one's", at: .init(path: user.folder.path("another.sqlite")))
        #expect(throws: HabitStoreError.self) { try store.read { _ in throw damage } }
        #expect(try store.stage() == .live)
    }

    @Test(arguments: EngineName.standard)
    func whatANewerVersionOfTheAppHasStoredMovesNobody(old: EngineName) throws {
        let user = try StagedUser(old: old)
        let newer = Schema([NewerApp.Note.self])
        let notes = [
            NewerApp.Note(mood: .elated), NewerApp.Note(details: .init(lines: ["a", "b"])), NewerApp.Note(),
        ]
        do {
            let store = try user.stores(schema: newer).store(for: "alice")
            defer { store.close() }
            try store.insert(notes)
            try user.bring(store, to: .live) { _ = try $0.all(NewerApp.Note.self) }
        }
        let store = try user.stores(schema: Schema([OlderApp.Note.self])).store(for: "alice")
        defer { store.close() }
        for (note, attribute) in zip(notes, ["mood", "details"]) {
            let error = #expect(throws: HabitStoreError.self) { try store.model(OlderApp.Note.self, id: note.id) }
            #expect(error?.code == .unreadableValue)
            #expect(error?.location.attribute == attribute)
            #expect(error?.location.id == note.id)
            #expect(try store.stage() == .live)
        }
        #expect(try store.model(OlderApp.Note.self, id: notes[2].id) != nil)
        #expect(throws: HabitStoreError.self) { try store.all(OlderApp.Note.self) }
        try store.save(OlderApp.Note())
        #expect(try store.fetchCount(FetchDescriptor<OlderApp.Note>()) == 4)
        #expect(try store.stage() == .live)
    }

    /// The stores were equal, the check found them sound, and the user advanced to `live`, where every fetch of all records threw.
    @Test(arguments: EngineName.standard)
    func aUserWhoseRecordsThisVersionCannotReadDoesNotReachLive(old: EngineName) throws {
        let user = try StagedUser(old: old)
        do {
            let store = try user.stores(schema: Schema([NewerApp.Note.self])).store(for: "alice")
            defer { store.close() }
            try store.insert([NewerApp.Note(mood: .elated), NewerApp.Note()])
            try user.bring(store, to: .shadow) { _ = try $0.all(NewerApp.Note.self) }
        }
        let store = try user.stores(schema: Schema([OlderApp.Note.self])).store(for: "alice")
        defer { store.close() }
        let report = try store.verify()
        #expect(report.verdict == .error)
        #expect(report.differenceCount == 0)
        #expect(report.failure?.code == HabitStoreError.Code.unreadableValue.rawValue)
        #expect(report.reason?.contains("cannot be read by this version's models") == true)
        let reasons = try store.decision().reasons
        #expect(reasons.contains(.verificationNotClean(verdict: "error", differences: 0)), "\(reasons)")
        #expect(try store.stage() == .shadow)
    }
}
