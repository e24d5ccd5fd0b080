import Foundation
import HabitStore
import Testing

@testable import HabitStoreRollout

/// A toggle moves a user without losing a record, and never shows an empty or an older store.
struct SwitchTests {
    @Test(arguments: EngineName.allCases)
    func aNewUserBeginsOnTheEngineThatTheFlagFileNames(engine: EngineName) throws {
        let fixture = try UserStoresFixture(engine)
        try fixture.with { opened in
            #expect(opened.engine == engine)
            #expect(opened.wanted == engine)
            #expect(opened.notes.isEmpty)
        }
        #expect(!FileManager.default.fileExists(atPath: try fixture.address(engine.other).path))
    }

    @Test func withoutAFlagFileANewUserBeginsOnSQLiteAndNobodyMoves() throws {
        let fixture = try UserStoresFixture(.lmdb)
        let unflagged = UserStores(root: fixture.root, flags: nil)
        try unflagged.open("bob").store.close()
        #expect(try fixture.address(.sqlite, "bob").open(.readOnly).information().role == .authoritative)
        try fixture.with { try SampleRecords.fill($0.store) }
        let opened = try unflagged.open("alice")
        defer { opened.store.close() }
        #expect(opened.engine == .lmdb)
        #expect(opened.wanted == nil)
    }

    @Test(arguments: EngineName.allCases)
    func aToggleThereAndBackWithWritesInBetweenLosesNothing(engine: EngineName) throws {
        let fixture = try UserStoresFixture(engine)
        try fixture.with { try SampleRecords.fill($0.store) }
        try fixture.want(engine.other)
        try fixture.with { opened in
            #expect(opened.engine == engine.other)
            #expect(opened.notes.count == 1)
            #expect(
                opened.notes.first?.hasPrefix("switched from \(engine.rawValue) to \(engine.other.rawValue)") == true
            )
            #expect(try opened.store.all(Entry.self).count == 20)
            try opened.store.save(Habit(name: "There"))
            try opened.store.delete(SampleRecords.entry(100))
        }
        // Nothing is switched twice.
        try fixture.with { #expect($0.notes.isEmpty) }
        try fixture.want(engine)
        try fixture.with { opened in
            #expect(opened.engine == engine)
            #expect(try fixture.names(opened.store) == ["Read", "Run", "There"])
            #expect(try opened.store.all(Entry.self).count == 19)
            try opened.store.save(Habit(name: "Back"))
        }
        try fixture.want(engine.other)
        try fixture.with { opened in
            let names = try fixture.names(opened.store)
            #expect(opened.engine == engine.other)
            #expect(names == ["Back", "Read", "Run", "There"])
        }
        #expect(try fixture.information(engine.other).role == .authoritative)
        #expect(try fixture.information(engine).role == .standby)
    }

    @Test func aConsumersTokenSurvivesTheSwitch() throws {
        let fixture = try UserStoresFixture(.sqlite)
        try fixture.with { try SampleRecords.fill($0.store) }
        let before = try fixture.with { (try $0.store.currentToken(), try $0.store.fetchHistory(after: .zero)) }
        try fixture.want(.lmdb)
        try fixture.with { opened in
            #expect(try opened.store.currentToken() == before.0)
            #expect(try opened.store.fetchHistory(after: .zero) == before.1)
            try opened.store.save(Habit(name: "New"))
            #expect(try opened.store.fetchHistory(after: before.0).count == 1)
        }
    }

    @Test(arguments: EngineName.allCases)
    func aHandleFromBeforeASwitchIsRefusedWhenItWrites(engine: EngineName) throws {
        let fixture = try UserStoresFixture(engine)
        let old = try fixture.stores.open("alice")
        defer { old.store.close() }
        try SampleRecords.fill(old.store)
        try fixture.want(engine.other)
        try fixture.with { try $0.store.save(Habit(name: "There")) }
        let refusal = #expect(throws: HabitStoreError.self) { try old.store.save(Habit(name: "Lost")) }
        #expect(refusal?.code == .notAuthoritative)
        // Nor does it write again when the role has come back in a later epoch.
        try fixture.want(engine)
        try fixture.with { _ in }
        let late = #expect(throws: HabitStoreError.self) { try old.store.save(Habit(name: "Lost")) }
        #expect(late?.code == .notAuthoritative)
        let names = try fixture.with { try fixture.names($0.store) }
        #expect(names == ["Read", "Run", "There"])
    }

    @Test func usersDoNotShareStores() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let users = ["alice", "Alice", "../alice", "é", "e\u{301}"]
        for (number, user) in users.enumerated() {
            try fixture.with(user) { try $0.store.save(Habit(name: "habit \(number)")) }
        }
        for (number, user) in users.enumerated() {
            let names = try fixture.with(user) { try fixture.names($0.store) }
            #expect(names == ["habit \(number)"])
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root) == ["users"])
    }

    @Test func theStandbyIsFoundForComparingAndNothingIsWrittenMeanwhile() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let missing = #expect(throws: HabitStoreError.self) { _ = try fixture.stores.addresses(of: "alice") }
        #expect(missing?.code == .notFound)
        #expect(!FileManager.default.fileExists(atPath: fixture.root))
        try fixture.with { try SampleRecords.fill($0.store) }
        let alone = #expect(throws: HabitStoreError.self) { _ = try fixture.stores.addresses(of: "alice") }
        #expect(alone?.code == .notFound)
        try fixture.want(.lmdb)
        try fixture.with { _ in }
        let (current, other) = try fixture.stores.addresses(of: "alice")
        #expect(current.engine == .lmdb)
        #expect(other.engine == .sqlite)
        #expect(try fixture.stores.currentAddress(of: "alice") == current)
    }
}
