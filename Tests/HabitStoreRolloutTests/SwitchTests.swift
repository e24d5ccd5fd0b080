import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Switching engines moves a user without losing a record, and never shows an empty or an older store.
struct SwitchTests {
    @Test(arguments: EngineName.standard)
    func aNewUserBeginsOnTheEngineThatTheFlagFileNames(engine: EngineName) throws {
        let fixture = try UserStoresFixture(engine)
        try fixture.with { opened in
            let served = try opened.engine()
            #expect(served == engine)
            #expect(opened.wantedEngine == engine)
            #expect(opened.notes.isEmpty)
        }
        #expect(!FileManager.default.fileExists(atPath: try fixture.address(engine.otherStandard).path))
    }

    @Test func withoutAFlagFileANewUserBeginsOnSQLiteAndNobodyMoves() throws {
        let fixture = try UserStoresFixture(.lmdb)
        let unflagged = try UserStores(root: fixture.root, flags: nil, schema: HabitSchema.current)
        try unflagged.store(for: "bob").close()
        #expect(
            try fixture.address(.sqlite, "bob").open(.readOnly, schema: HabitSchema.current).information().role
                == .authoritative
        )
        try fixture.with { try SampleRecords.fill($0) }
        let opened = try unflagged.store(for: "alice")
        defer { opened.close() }
        let served = try opened.engine()
        #expect(served == .lmdb)
        #expect(opened.wantedEngine == nil)
    }

    @Test(arguments: EngineName.standard)
    func aToggleThereAndBackWithWritesInBetweenLosesNothing(engine: EngineName) throws {
        let fixture = try UserStoresFixture(engine)
        try fixture.with { try SampleRecords.fill($0) }
        try fixture.want(engine.otherStandard)
        try fixture.with { opened in
            let served = try opened.engine()
            #expect(served == engine.otherStandard)
            #expect(opened.notes.count == 1)
            #expect(
                opened.notes.first?.hasPrefix("switched from \(engine.rawValue) to \(engine.otherStandard.rawValue)")
                    == true
            )
            #expect(try opened.all(Entry.self).count == 20)
            try opened.save(Habit(name: "There"))
            try opened.delete(SampleRecords.entry(100))
        }
        // The switch happens once.
        try fixture.with { #expect($0.notes.isEmpty) }
        try fixture.want(engine)
        try fixture.with { opened in
            let served = try opened.engine()
            #expect(served == engine)
            #expect(try fixture.names(opened) == ["Read", "Run", "There"])
            #expect(try opened.all(Entry.self).count == 19)
            try opened.save(Habit(name: "Back"))
        }
        try fixture.want(engine.otherStandard)
        try fixture.with { opened in
            let names = try fixture.names(opened)
            let served = try opened.engine()
            #expect(served == engine.otherStandard)
            #expect(names == ["Back", "Read", "Run", "There"])
        }
        #expect(try fixture.information(engine.otherStandard).role == .authoritative)
        #expect(try fixture.information(engine).role == .standby)
    }

    @Test func aConsumersTokenSurvivesTheSwitch() throws {
        let fixture = try UserStoresFixture(.sqlite)
        try fixture.with { try SampleRecords.fill($0) }
        let before = try fixture.with { (try $0.currentToken(), try $0.fetchHistory(after: .zero)) }
        try fixture.want(.lmdb)
        try fixture.with { opened in
            #expect(try opened.currentToken() == before.0)
            #expect(try opened.fetchHistory(after: .zero) == before.1)
            try opened.save(Habit(name: "New"))
            #expect(try opened.fetchHistory(after: before.0).count == 1)
        }
    }

    /// A process that slept through a switch wrote to the store that it knew, or was refused until it reopened the user.
    @Test(arguments: EngineName.standard)
    func aHandleFromBeforeASwitchFollowsTheUser(engine: EngineName) throws {
        let fixture = try UserStoresFixture(engine)
        let old = try fixture.stores().store(for: "alice")
        defer { old.close() }
        try SampleRecords.fill(old)
        try fixture.want(engine.otherStandard)
        try fixture.with { try $0.save(Habit(name: "There")) }
        #expect(try fixture.names(old) == ["Read", "Run", "There"])
        try old.save(Habit(name: "Late"))
        #expect(try old.engine() == engine.otherStandard)
        // Also when the store has become authoritative again in a later epoch.
        try fixture.want(engine)
        try fixture.with { _ in }
        try old.save(Habit(name: "Later"))
        #expect(try old.engine() == engine)
        let names = try fixture.with { try fixture.names($0) }
        #expect(names == ["Late", "Later", "Read", "Run", "There"])
    }

    @Test func usersDoNotShareStores() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let users = ["alice", "Alice", "../alice", "é", "e\u{301}"]
        for (number, user) in users.enumerated() {
            try fixture.with(user) { try $0.save(Habit(name: "habit \(number)")) }
        }
        for (number, user) in users.enumerated() {
            let names = try fixture.with(user) { try fixture.names($0) }
            #expect(names == ["habit \(number)"])
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root) == ["users"])
    }

    @Test func theStandbyIsFoundForComparingAndNothingIsWrittenMeanwhile() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let missing = #expect(throws: HabitStoreError.self) { _ = try fixture.stores().addresses(of: "alice") }
        #expect(missing?.code == .notFound)
        #expect(!FileManager.default.fileExists(atPath: fixture.root))
        try fixture.with { try SampleRecords.fill($0) }
        let alone = #expect(throws: HabitStoreError.self) { _ = try fixture.stores().addresses(of: "alice") }
        #expect(alone?.code == .notFound)
        try fixture.want(.lmdb)
        try fixture.with { _ in }
        let (current, other) = try fixture.stores().addresses(of: "alice")
        #expect(current.engine == .lmdb)
        #expect(other.engine == .sqlite)
        #expect(try fixture.stores().currentAddress(of: "alice") == current)
    }
}
