import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A flag file that is missing, broken or strange moves no user, and the reason is reported.
struct FlagFileTests {
    private func openWithFlags(_ change: (UserStoresFixture) throws -> Void) throws -> (UserStore, UserStoresFixture) {
        let fixture = try UserStoresFixture(.lmdb)
        try fixture.with { try SampleRecords.fill($0) }
        try change(fixture)
        let opened = try fixture.stores().store(for: "alice")
        #expect(try opened.engine() == .lmdb)
        #expect(opened.wantedEngine == nil)
        #expect(try opened.all(Entry.self).count == 20)
        try opened.save(Habit(name: "still takes writes"))
        opened.close()
        return (opened, fixture)
    }

    @Test func aMissingFlagFile() throws {
        let (opened, _) = try openWithFlags { try FileManager.default.removeItem(atPath: $0.flags) }
        #expect(opened.notes.count == 1)
        #expect(opened.notes.first?.contains("there is no flag file") == true)
    }

    @Test func aFolderInPlaceOfTheFlagFile() throws {
        let (opened, _) = try openWithFlags { fixture in
            try FileManager.default.removeItem(atPath: fixture.flags)
            try FileManager.default.createDirectory(atPath: fixture.flags, withIntermediateDirectories: false)
        }
        #expect(opened.notes.count == 1)
    }

    @Test func aMalformedFlagFileIsNamedWithItsLine() throws {
        let (opened, fixture) = try openWithFlags { try $0.writeFlags("{\n  \"flags\": {\n    oops\n") }
        #expect(opened.notes.count == 1)
        #expect(opened.notes.first?.contains("\(fixture.flags):3") == true)
    }

    @Test func aFlagFileWithoutTheFlag() throws {
        let (opened, _) = try openWithFlags { try $0.writeFlags(#"{"flags": {}}"#) }
        #expect(opened.notes.count == 1)
        #expect(opened.notes.first?.contains(RolloutFlags.backend) == true)
    }

    @Test(arguments: [#"{"v": "oracle"}"#, #"{"v": "SQLite"}"#, #"{"v": ""}"#, #"{"v": true}"#, #"{"v": 1}"#])
    func aValueThatIsNoEngine(variants: String) throws {
        let (opened, _) = try openWithFlags { try $0.wantValue(variants, state: "ENABLED") }
        #expect(opened.notes.count == 1)
        #expect(opened.notes.first?.contains("is not an engine") == true)
    }

    @Test func aFlagThatIsSwitchedOffMovesNobody() throws {
        let (opened, _) = try openWithFlags { try $0.wantValue(#"{"v": "sqlite"}"#, state: "DISABLED") }
        #expect(opened.notes.isEmpty)
    }

    @Test func aUserWhomARuleNamesIsMovedAndNobodyElse() throws {
        let fixture = try UserStoresFixture(.sqlite)
        for user in ["alice", "bob"] { try fixture.with(user) { try SampleRecords.fill($0) } }
        try fixture.writeFlags(
            """
            {"flags": {"habit-store-backend": {
              "state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}, "defaultVariant": "sqlite",
              "targeting": {"if": [{"==": [{"var": "targetingKey"}, "bob"]}, "lmdb", "sqlite"]}
            }}}
            """
        )
        #expect(try fixture.with("alice") { try $0.engine() } == .sqlite)
        try fixture.with("bob") { opened in
            let entries = try opened.all(Entry.self)
            #expect(try opened.engine() == .lmdb)
            #expect(entries.count == 20)
        }
    }

    /// The flag file that ships has a stage as well as an engine, and the stage is `off` for all users. A user whom it moved to the new engine
    /// directly stayed there when the file named the old one again, because at `complete` a stage takes no user back.
    @Test(arguments: EngineName.standard)
    func aUserWhoWasPutOnTheNewEngineDirectlyComesBackTheSameWay(old: EngineName) throws {
        let fixture = try UserStoresFixture(old)
        try fixture.with { try SampleRecords.fill($0) }
        func want(_ engine: EngineName) throws {
            let engines = #""state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}"#
            try fixture.writeFlags(
                """
                {"flags": {
                  "habit-store-backend": {\(engines), "defaultVariant": "\(engine.rawValue)"},
                  "habit-store-old": {\(engines), "defaultVariant": "\(old.rawValue)"},
                  "habit-store-stage": {"state": "ENABLED", "variants": {"off": "off"}, "defaultVariant": "off"}
                }}
                """
            )
        }
        try want(old.otherStandard)
        try fixture.with { opened in
            #expect(try opened.stage() == .complete)
            try opened.save(Habit(name: "on the new engine"))
        }
        try want(old)
        try fixture.with { opened in
            let (stage, engine, habits) = (try opened.stage(), try opened.engine(), try opened.all(Habit.self))
            #expect(stage == .off)
            #expect(engine == old)
            #expect(habits.contains { $0.name == "on the new engine" })
        }
    }
}
