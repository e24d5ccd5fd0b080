import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import RolloutTesting
import Testing

@testable import HabitStoreFleet

/// Mistakes in plans are reported with their place, and drawn waves stay.
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
        (#"{"waves": [{"users": 5}]}"#, 1, 12, "all users who are left"),
        (#"{"stage": "off", "waves": [{"percent": 100}]}"#, 1, 11, "stage must be one of"),
        (#"{"waves": [{"percent": 100}], "atOnce": 1.5}"#, 1, 41, "whole number"),
        (#"{"waves": [{"percent": 100}], "hours": {"from": "25:00", "to": "8:00"}}"#, 1, 49, "time of the day"),
        (#"{"waves": [{"percent": 100}}"#, 1, 28, "]"),
        ("", 1, 1, "a plan holds at least an object"),
        (#"{"hours": {"from": "8:00"}}"#, 1, 11, "hours must have from and to"),
        (#"{"hours": {"from": "8:00", "to": "9 o'clock"}}"#, 1, 34, "to must be a time of the day"),
        (#"{"heavyHours": {"from": "8:00", "to": "8:00"}}"#, 1, 16, "ends when it begins"),
        (#"{"hours": {"from": "8:00", "to": "9:00", "timeZone": "Mars"}}"#, 1, 54, "no time zone"),
        (#"{"waves": [{"percent": 100, "atOnce": 0}]}"#, 1, 39, "from 1 to 64"),
        (#"{"hooks": {}}"#, 1, 11, "a list of hooks"),
        (#"{"hooks": [{"name": "a"}]}"#, 1, 12, "this one has none"),
        (#"{"hooks": [{"program": "hook"}]}"#, 1, 24, "begins with /"),
        (#"{"hooks": [{"program": "/bin/sh\u0000x"}]}"#, 1, 24, "program contains U+0000"),
        (#"{"hooks": [{"program": "/h", "arguments": ["a\u0000b"]}]}"#, 1, 44, "an argument contains U+0000"),
        (#"{"hooks": [{"program": "/h", "arguments": "x"}]}"#, 1, 43, "a list of strings"),
        (#"{"hooks": [{"url": "https://a/hidden", "secretFile": "/hidden"}]}"#, 1, 13, "url"),
        (#"{"hooks": [{"program": "/h", "events": ["halt"]}]}"#, 1, 41, "no event \"halt\""),
        (#"{"hooks": [{"program": "/a/h"}, {"program": "/b/h"}]}"#, 1, 33, "two hooks"),
        (#"{"hooks": [{"program": "/h", "confirmsWaves": 1}]}"#, 1, 47, "true or false"),
        (#"{"hooks": [{"program": "/h", "timeoutSeconds": 0}]}"#, 1, 48, "from 0.1 to 120"),
        (#"{"waves": [{"percent": 100}], "usersPerMinute": 1e-300}"#, 1, 49, "from 0.001"),
        (#"{"stage": "dualwrite", "waves": [{"percent": 100, "cleanShadowReads": 5}]}"#, 1, 71, "ends at dualwrite"),
        (#"{"stage": "live", "stage": "complete", "waves": [{"percent": 100}]}"#, 1, 19, "twice"),
    ])
    func whatIsWrongHasItsPlace(_ text: String, _ line: Int, _ column: Int, _ words: String) throws {
        let (plan, issues) = try read(text)
        #expect(plan == nil)
        let first = try #require(issues.first)
        #expect((first.line, first.column) == (line, column), "\(issues)")
        #expect(issues.contains { $0.message.contains(words) }, "\(issues)")
        // Possible secrets are not repeated, and a plan is not called a flag file.
        #expect(issues.allSatisfy { !$0.message.contains("hidden") && !$0.message.contains("flag file") })
    }

    /// A mistake in a time of day was reported twice.
    @Test func aMistakeIsToldOnce() throws {
        let (_, issues) = try read(#"{"hours": {"from": "25:00", "to": "8:00"}}"#)
        #expect(issues.count == 1, "\(issues)")
        #expect { try FleetPlanReader.read(path: folder.path("missing.json")) } throws: {
            "\($0)".contains("there is no plan at this path") && !"\($0)".contains("flag file")
        }
    }

    @Test func aPlanThatSaysNothingHasTheStandardWaves() throws {
        let plan = try #require(try read("{}").plan)
        #expect(plan.waves.map(\.name) == ["canary", "0.1 %", "1 %", "5 %", "25 %", "everybody"])
        #expect(plan.waves.map(\.extent) == [.users(10)] + [0.1, 1, 5, 25, 100].map { .percent($0) })
        #expect(plan.waves.map(\.soakSeconds) == Array(repeating: 86_400, count: 5) + [0])
        // The equivalent waves can also be written out.
        let members = FleetMembers(plan, (0..<10_000).map { (user: "u\($0)", bytes: 1) }, salt: "a")
        #expect(members.waves.indices.map { members.wave($0).count } == [10, 0, 90, 400, 2_000, 7_500])
        #expect(plan.leastSeconds(ofWave: 1, users: 0, bytes: 0) == 0)
    }

    @Test func aWaveSaysForItselfHowFastItsUsersAreMoved() throws {
        let plan = try #require(
            try read(
                """
                {"usersPerMinute": 60, "heavyBytes": 100, "hours": {"from": "8:00", "to": "18:00"}, "waves": [
                  {"users": 10, "usersPerMinute": 6, "heavyBytes": 5, "heavyHours": {"from": "22:00", "to": "6:00"}, "heavyAtOnce": 2},
                  {"percent": 100}
                ]}
                """
            ).plan
        )
        let (first, second) = (plan.paced(for: 0), plan.paced(for: 1))
        #expect(first.usersPerMinute == 6 && second.usersPerMinute == 60)
        #expect(first.cohort(7) == .heavy && second.cohort(7) == .normal)
        #expect(first.hours(.heavy)?.from == 22 * 60 && first.hours(.normal)?.from == 8 * 60)
        #expect(second.hours(.heavy) == plan.hours)
        #expect(first.atOnce(.heavy) == 2 && second.atOnce(.heavy) == 1)
        #expect(plan.leastSeconds(ofWave: 0, users: 10, bytes: 1) == 100)
        let members = FleetMembers(plan, (0..<30).map { (user: "u\($0)", bytes: 7) }, salt: "a")
        #expect(
            members.wave(0).allSatisfy { $0.cohort == .heavy } && members.wave(1).allSatisfy { $0.cohort == .normal }
        )
    }

    @Test func hooksAreRead() throws {
        let plan = try #require(
            try read(
                #"{"hooks": [{"program": "/opt/pager", "arguments": ["a b", ""], "events": ["halted"], "confirmsWaves": true}]}"#
            ).plan
        )
        let hook = try #require(plan.hooks.first)
        #expect(hook.name == "pager" && hook.confirmsWaves && hook.events == ["halted"] && !hook.namesUsers)
        #expect(hook.program == "/opt/pager" && hook.arguments == ["a b", ""])
    }

    @Test func theSchemaHasTheEventsOfTheLedger() throws {
        let schema = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("schemas/fleet-plan.schema.json")
        let text = String(decoding: try Data(contentsOf: schema), as: UTF8.self)
        let start = try #require(text.firstRange(of: "\"events\""))
        let end = try #require(text[start.upperBound...].firstRange(of: "confirmsWaves"))
        let named = text[start.upperBound..<end.lowerBound].split(separator: "\"").map(String.init)
        #expect(named.filter { FleetEvent.kinds.contains($0) } == FleetEvent.kinds)
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
        // A user added later changes no other user's wave.
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
