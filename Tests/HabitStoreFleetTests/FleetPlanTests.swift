import Foundation
import HabitStore
import HabitStoreRollout
import RolloutTesting
import Testing

@testable import HabitStoreFleet

/// Plans say where they are wrong, and what was drawn stays.
struct FleetPlanTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func read(_ text: String, as name: String = "plan.json") throws -> (
        plan: FleetPlan?, issues: [FleetPlanReader.Issue]
    ) {
        let path = folder.path(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return try FleetPlanReader.read(path: path)
    }

    @Test(arguments: [
        (#"{"waves": []}"#, 1, 11, "at least one wave"),
        ("{\n  \"wave\": 1\n}", 2, 3, "no field \"wave\""),
        (#"{"waves": [{"users": 0}, {"percent": 100}]}"#, 1, 22, "from 1"),
        (#"{"waves": [{"users": 1, "percent": 1}, {"percent": 100}]}"#, 1, 12, "only one of them"),
        (#"{"waves": [{"percent": 5}, {"percent": 1}, {"percent": 100}]}"#, 1, 28, "not above"),
        (#"{"waves": [{"users": 5}]}"#, 1, 12, "everybody who is left"),
        (#"{"stage": "off", "waves": [{"percent": 100}]}"#, 1, 11, "stage is one of"),
        (#"{"waves": [{"percent": 100}], "atOnce": 1.5}"#, 1, 41, "whole number"),
        (#"{"waves": [{"percent": 100}], "hours": {"from": "25:00", "to": "8:00"}}"#, 1, 49, "time of the day"),
        (#"{"waves": [{"percent": 100}}"#, 1, 28, "]"),
        (#"{"waves": [{"percent": 100}], "usersPerMinute": 1e-300}"#, 1, 49, "from 0.001"),
        (#"{"stage": "live", "stage": "complete", "waves": [{"percent": 100}]}"#, 1, 19, "twice"),
    ])
    func whatIsWrongHasItsPlace(_ text: String, _ line: Int, _ column: Int, _ words: String) throws {
        let (plan, issues) = try read(text)
        #expect(plan == nil)
        let first = try #require(issues.first)
        #expect((first.line, first.column) == (line, column), "\(issues)")
        #expect(issues.contains { $0.message.contains(words) }, "\(issues)")
    }

    @Test func aPlanInYAMLIsTheSame() throws {
        let json = try read(
            #"{"waves": [{"name": "a", "users": 10, "soakSeconds": 60}, {"percent": 100}], "atOnce": 4}"#
        )
        let yaml = try read(
            """
            atOnce: 4
            waves:
              - name: a
                users: 10
                soakSeconds: 60
              - percent: 100
            """,
            as: "plan.yaml"
        )
        #expect(json.plan != nil)
        #expect(yaml.plan == json.plan)
    }

    @Test func wavesFollowFromTheSaltAndHoldEverybodyOnce() throws {
        let plan = try #require(
            try read(#"{"waves": [{"users": 10}, {"percent": 1}, {"percent": 25}, {"percent": 100}]}"#).plan
        )
        let users = (0..<2_000).map { (user: "user-\($0)", bytes: $0 % 7) }
        let members = FleetMembers(plan, users, salt: "a")
        #expect(members.waves.indices.map { members.wave($0).count } == [10, 10, 480, 1_500])
        #expect(Set(members.members.map(\.user)).count == 2_000)
        #expect(FleetMembers(plan, users.shuffled(), salt: "a") == members)
        #expect(FleetMembers(plan, users, salt: "b") != members)
        // Small ones first.
        #expect(members.wave(3).map(\.bytes) == members.wave(3).map(\.bytes).sorted())
        // Who comes later changes nobody's wave.
        let more = members.adding([(user: "new", bytes: 1), (user: "user-1", bytes: 9)], plan)
        #expect(Array(more.members.dropLast()) == members.members)
        #expect(more.members.last?.wave == 3)
    }

    @Test func theFileComesBackAndShowsDamage() throws {
        let plan = try #require(try read(#"{"waves": [{"name": "a\tb", "users": 1}, {"percent": 100}]}"#).plan)
        let names = ["plain", "tab\tand\nline\\end", "ünïcode", " "]
        let members = FleetMembers(plan, names.map { (user: $0, bytes: 3) }, salt: "a")
        let path = folder.path("members.tsv")
        try members.data.write(to: URL(fileURLWithPath: path))
        #expect(try FleetMembers.load(path) == members)
        var damaged = members.data
        damaged[damaged.count / 2] ^= 1
        try damaged.write(to: URL(fileURLWithPath: path))
        #expect { try FleetMembers.load(path) } throws: { "\($0)".contains("are damaged") }
    }

    @Test func aChangedPlanMovesNobodyToAnotherWave() throws {
        let test = try TestFleet(6)
        let drawn = try test.draw(TestFleet.twoWaves)
        let changed = try test.draw(
            TestFleet.twoWaves.replacing("\"users\": 2", with: "\"users\": 4, \"soakSeconds\": 1")
        )
        #expect(changed == drawn)
        #expect(try test.fleet.plan().waves[0].soakSeconds == 1)
        #expect { try test.draw(#"{"waves": [{"name": "all", "percent": 100}]}"#) } throws: {
            "\($0)".contains("the waves were drawn already")
        }
    }
}
