import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// With the flag file that ships, a user whom the list moved to LMDB stayed there when the edit was undone, because the rule ends in a percentage,
/// and a percentage took no user back. Now a user placed by a list, a rule or a default goes back when that ends, whatever answers then; a user
/// placed by a percentage stays when the percentage changes.
struct PlacementTests {
    /// The rule of the file that ships, with other users in its list, other weights and another bucketing.
    private static func rule(_ users: [String], lmdb: Int = 0, by bucketing: String = "") -> String {
        let list = users.map { "\"\($0)\"" }.joined(separator: ", ")
        return """
            {"if": [{"in": [{"var": "targetingKey"}, [\(list)]]}, "lmdb",
              {"fractional": [\(bucketing)["lmdb", \(lmdb)], ["sqlite", \(100 - lmdb)]]}]}
            """
    }

    /// One state of a flag file: the rule of the backend, and whether a process opens the user while it is in force.
    struct Edit: Sendable {
        var targeting: String?
        var defaultVariant = "sqlite"
        var isSeen = true
    }

    struct Story: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let edits: [Edit]
        let stage: Stage
        var hold: GateReason.Hold?

        init(_ name: String, _ edits: [Edit], endsAt stage: Stage, _ hold: GateReason.Hold? = nil) {
            (testDescription, self.edits, self.stage, self.hold) = (name, edits, stage, hold)
        }
    }

    private static func edit(_ users: [String] = [], lmdb: Int = 0, by bucketing: String = "", isSeen: Bool = true)
        -> Edit
    {
        Edit(targeting: rule(users, lmdb: lmdb, by: bucketing), isSeen: isSeen)
    }

    private static let begun = edit(["pilot-user"])
    private static let listed = edit(["alice"])
    private static let salted = #"{"cat": ["salt", {"var": "targetingKey"}]}, "#

    static let stories = [
        Story("the list is undone", [begun, listed, begun], endsAt: .off),
        Story("the list is undone in the one file that was ever seen", [listed, begun], endsAt: .off),
        Story("a percentage is lowered", [begun, edit(lmdb: 100), begun], endsAt: .complete, .percentage),
        Story(
            "a percentage is bucketed by something else",
            [begun, edit(lmdb: 100), edit(lmdb: 0, by: salted)],
            endsAt: .complete,
            .percentage
        ),
        Story("the list and the percentage are edited together", [edit(["alice"], lmdb: 100), begun], endsAt: .off),
        Story(
            "the list ends where a percentage says the same, which is lowered then",
            [listed, edit(lmdb: 100), begun],
            endsAt: .complete,
            .percentage
        ),
        Story(
            "no process has seen that the percentage said the same",
            [listed, edit(lmdb: 100, isSeen: false), begun],
            endsAt: .off
        ),
        Story("whom a percentage placed is listed, and not any more", [edit(lmdb: 100), listed, begun], endsAt: .off),
        Story(
            "everybody was put there by the default",
            [begun, Edit(targeting: nil, defaultVariant: "lmdb"), begun],
            endsAt: .off
        ),
        Story(
            "a condition with a percentage in it does not hold any more",
            [
                Edit(targeting: #"{"if": [true, {"fractional": [["lmdb", 100], ["sqlite", 0]]}, "sqlite"]}"#),
                Edit(targeting: #"{"if": [false, {"fractional": [["lmdb", 100], ["sqlite", 0]]}, "sqlite"]}"#),
            ],
            endsAt: .off
        ),
    ]

    /// Writes a flag file with all five flags, as in the one that ships.
    private func write(_ edit: Edit, _ fixture: UserStoresFixture, stage: String = #""defaultVariant": "off""#) throws {
        let engines = #""state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}"#
        let stages = Stage.allCases.map { "\"\($0)\": \"\($0)\"" }.joined(separator: ", ")
        let targeting = edit.targeting.map { ", \"targeting\": \($0)" } ?? ""
        try fixture.writeFlags(
            """
            {"flags": {
              "habit-store-backend": {\(engines), "defaultVariant": "\(edit.defaultVariant)"\(targeting)},
              "habit-store-old": {\(engines), "defaultVariant": "sqlite"},
              "habit-store-new": {\(engines), "defaultVariant": "lmdb"},
              "habit-store-stage": {"state": "ENABLED", "variants": {\(stages)}, \(stage)}
            }}
            """
        )
    }

    @Test(arguments: stories)
    func aUserGoesBackByWhatPlacedTheUser(_ story: Story) throws {
        let fixture = try UserStoresFixture(.sqlite)
        for (number, edit) in story.edits.enumerated() {
            try write(edit, fixture)
            guard edit.isSeen else { continue }
            try fixture.with { try $0.save(Habit(name: "after edit \(number)")) }
        }
        try fixture.with { store throws in
            #expect(try store.stage() == story.stage, "\(store.notes)")
            #expect(try store.all(Habit.self).count == story.edits.filter(\.isSeen).count)
            // The user is not where the flags say, for a reason, which is not a success.
            let decision = try store.advance()
            #expect(decision?.reasons ?? [] == (story.hold.map { [.notTakenBack(wanted: .off, because: $0)] } ?? []))
        }
        let status = try fixture.stores().status(of: "alice")
        #expect(status.stays == story.hold.map { .notTakenBack(wanted: .off, because: $0) })
        #expect((status.whyNotThere(user: "alice") != nil) == (story.stage != .off))
    }

    /// The file that ships, edited as in the tour.
    @Test func theFlagFileThatShipsTogglesThereAndBack() throws {
        let fixture = try UserStoresFixture(.sqlite)
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let shipped = try String(
            contentsOf: root.appendingPathComponent("Flags/habit-store.flagd.json"),
            encoding: .utf8
        )
        try fixture.writeFlags(shipped)
        try fixture.with { try SampleRecords.fill($0) }
        try fixture.writeFlags(shipped.replacing("pilot-user", with: "alice"))
        try fixture.with { store throws in
            #expect(try store.engine() == .lmdb)
            try store.save(Habit(name: "on LMDB"))
        }
        try fixture.writeFlags(shipped)
        #expect(try fixture.stores().status(of: "alice").stays == .notTakenBack(wanted: .off, because: .pending))
        try fixture.with { store throws in
            #expect(try store.engine() == .sqlite)
            #expect(try fixture.names(store).contains("on LMDB"))
            #expect(try store.advance() == nil)
            #expect(try store.verify().verdict == .match)
        }
    }

    /// `mv flags.bak flags` restores a file that is older than the one in force: it was taken for one that had already been followed.
    @Test func anOlderFileThatIsMovedBackIsAnEdit() throws {
        let fixture = try UserStoresFixture(.sqlite)
        try write(Self.begun, fixture)
        try fixture.with { try $0.save(Habit(name: "Run")) }
        let aside = fixture.folder.path("aside")
        try FileManager.default.moveItem(atPath: fixture.flags, toPath: aside)
        try write(Self.listed, fixture)
        #expect(try fixture.with { try $0.engine() } == .lmdb)
        #expect(rename(aside, fixture.flags) == 0)
        #expect(try fixture.with { try $0.engine() } == .sqlite)
    }

    /// The same for the stage, for a user who stays open.
    @Test(arguments: [true, false])
    func aStageByAListEndsAndOneByAPercentageStays(isListed: Bool) throws {
        let fixture = try UserStoresFixture(.sqlite)
        let percentage: (Int) -> String = { #"{"fractional": [["shadow", \#($0)], ["off", \#(100 - $0)]]}"# }
        func want(_ shadow: Int, listed: Bool) throws {
            let rule =
                #"{"if": [{"in": [{"var": "targetingKey"}, ["\#(listed ? "alice" : "bob")"]]}, "shadow", \#(percentage(shadow))]}"#
            try write(
                Edit(targeting: nil),
                fixture,
                stage: #""defaultVariant": "off", "targeting": \#(rule)"#
            )
        }
        try want(isListed ? 0 : 100, listed: isListed)
        let stores = try fixture.stores()
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        #expect(try store.advance()?.isOpen == true)
        #expect(try store.stage() == .shadow)
        try want(0, listed: false)
        stores.reloadFlags()
        #expect(try store.stage() == (isListed ? .off : .shadow))
        #expect(try store.advance()?.reasons == (isListed ? nil : [.notTakenBack(wanted: .off, because: .percentage)]))
        // The kill switch ignores how the user was placed.
        try SentinelFile(path: RolloutFlags.sentinelPath(root: fixture.root)).create()
        stores.reloadFlags()
        #expect(try store.applyKill())
        #expect(try store.stage() == .off)
    }

    /// An earlier version's records do not say what placed the user. That is learnt while the flags want the user there; until then a percentage
    /// takes the user back no more than that version did.
    @Test func aUserOfAnEarlierVersionStaysUntilTheFlagsHaveConfirmedThePlace() throws {
        let fixture = try UserStoresFixture(.sqlite)
        try write(Self.listed, fixture)
        try fixture.with { try $0.save(Habit(name: "Run")) }
        func forget() throws {
            try fixture.file(.lmdb) { store in
                try store.replicate { replica in
                    let text = try #require(try replica.rolloutState())
                    let earlier = text.replacing(#""placedBy":"rule","#, with: "")
                    try #require(earlier != text)
                    try replica.setRolloutState(earlier)
                }
            }
        }
        try forget()
        try write(Self.begun, fixture)
        try fixture.with { store throws in
            #expect(try store.stage() == .complete)
            #expect(try store.advance()?.reasons == [.notTakenBack(wanted: .off, because: .unknownPlacement)])
        }
        try write(Self.listed, fixture)
        #expect(try fixture.with { try $0.stage() } == .complete)
        try write(Self.begun, fixture)
        #expect(try fixture.with { try $0.stage() } == .off)
    }

    /// Another process saw that the user was in the list; a process that did not goes by the stores' record.
    @Test func whatAnotherProcessHasSeenCounts() throws {
        let fixture = try UserStoresFixture(.sqlite)
        func want(_ users: [String], _ shadow: Int) throws {
            let list = users.map { "\"\($0)\"" }.joined(separator: ", ")
            try write(
                Edit(targeting: nil),
                fixture,
                stage:
                    #""defaultVariant": "off", "targeting": {"if": [{"in": [{"var": "targetingKey"}, [\#(list)]]}, "shadow","#
                    + #" {"fractional": [["shadow", \#(shadow)], ["off", \#(100 - shadow)]]}]}"#
            )
        }
        try want([], 100)
        let stores = try fixture.stores()
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        _ = try store.advance()
        #expect(try store.stage() == .shadow)
        try want(["alice"], 0)
        #expect(try fixture.with { try $0.stage() } == .shadow)
        try want([], 0)
        stores.reloadFlags()
        #expect(try store.stage() == .off)
    }

    /// The same for the engines' roles: a changed percentage exchanged them for users whom it had placed.
    @Test func aPercentageThatIsChangedTurnsNobodysEngines() throws {
        let fixture = try UserStoresFixture(.sqlite)
        func want(old targeting: String) throws {
            let engines = #""state": "ENABLED", "variants": {"sqlite": "sqlite", "lmdb": "lmdb"}"#
            try fixture.writeFlags(
                """
                {"flags": {
                  "habit-store-old": {\(engines), "defaultVariant": "sqlite", "targeting": \(targeting)},
                  "habit-store-stage": {"state": "ENABLED", "variants": {"off": "off"}, "defaultVariant": "off"}
                }}
                """
            )
        }
        func old() throws -> EngineName? {
            try fixture.with { store throws in
                try store.save(Habit(name: "Run"))
                return store.files.leases.load()?.actual.state.engines.old
            }
        }
        try want(old: #"{"fractional": [["sqlite", 100], ["lmdb", 0]]}"#)
        #expect(try old() == .sqlite)
        try want(old: #"{"fractional": [["sqlite", 0], ["lmdb", 100]]}"#)
        #expect(try old() == .sqlite)
        #expect(try fixture.stores().status(of: "alice").notes.contains { $0.contains("a percentage chose") })
        try want(old: #"{"if": [true, "lmdb", "sqlite"]}"#)
        #expect(try old() == .lmdb)
    }
}
