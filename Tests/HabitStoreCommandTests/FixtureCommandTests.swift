import Foundation
import HabitTracker
import Testing

/// `verify --fixtures` accepts exactly what the expectations say.
struct FixtureCommandTests {
    /// A folder with one fixture: a habit and an entry in SQLite.
    private func fixtures(counts: String = #"{"Habit": 1, "Entry": 1, "Tag": 0, "Draft": 0}"#) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("checkin", "Run").expectSuccess()
        try FileManager.default.createDirectory(atPath: sandbox.path("fixtures"), withIntermediateDirectories: false)
        let store = sandbox.path("data/habitstore/users/u-616c696365/store.sqlite")
        try sandbox.run("copy", store, "sqlite:fixtures/one.sqlite").expectSuccess()
        let habits = try sandbox.run("habit", "list", "--format", "json").list("habits")
        let id = try #require(habits.first?["id"] as? String)
        try sandbox.write(
            "fixtures/queries.json",
            #"{"queries": [{"name": "runs", "entity": "Habit", "filter": "name == \"Run\""}]}"#
        )
        try sandbox.write(
            "fixtures/one.expected.json",
            """
            {"description": "a small one", "token": 2, "counts": \(counts), "anomalies": {},
             "queries": {"runs": {"count": 1, "identifiers": ["\(id)"]}}}
            """
        )
        return sandbox
    }

    @Test func aFixtureAsExpectedPassesAndTheFolderStaysAsItWas() throws {
        let sandbox = try fixtures()
        let before = try sandbox.state(of: "fixtures")
        let run = try sandbox.run("verify", "--fixtures", "fixtures")
        run.expectSuccess()
        #expect(run.output.hasPrefix("pass  one: a small one"))
        #expect(run.output.hasSuffix("all 1 fixtures passed\n"))
        let json = try sandbox.run("verify", "--fixtures", "fixtures", "--format", "json").json()
        #expect(json["passed"] as? Bool == true)
        #expect(try sandbox.state(of: "fixtures") == before)
    }

    @Test func aFixtureThatIsNotAsExpectedFails() throws {
        let sandbox = try fixtures(counts: #"{"Habit": 2, "Entry": 1, "Tag": 0, "Draft": 0}"#)
        let run = try sandbox.run("verify", "--fixtures", "fixtures")
        #expect(run.status == 1)
        #expect(run.errors.isEmpty)
        #expect(run.output.hasPrefix("FAIL  one"))
        #expect(run.output.hasSuffix("1 of 1 fixtures FAILED\n"))
        let json = try sandbox.run("verify", "--fixtures", "fixtures", "--format", "json")
        #expect(json.status == 1)
        #expect(try json.json()["passed"] as? Bool == false)
    }

    @Test func aFixtureWithoutExpectationsOrAnEmptyFolderIsNoPass() throws {
        let sandbox = try fixtures()
        try FileManager.default.removeItem(atPath: sandbox.path("fixtures/one.expected.json"))
        try sandbox.run("verify", "--fixtures", "fixtures").expectError(74, containing: "one.expected.json")
        try FileManager.default.removeItem(atPath: sandbox.path("fixtures/one.sqlite"))
        try sandbox.run("verify", "--fixtures", "fixtures").expectError(74)
        try sandbox.run("verify", "--fixtures", "fixtures/queries.json").expectError(65)
    }

    @Test func aDamagedFixtureIsAnError() throws {
        let sandbox = try fixtures()
        try sandbox.write("fixtures/one.sqlite", "SQLite format 3\0 and then nothing")
        try sandbox.run("verify", "--fixtures", "fixtures").expectError(65)
    }

    /// `a` and `b` were used as paths: fixtures from elsewhere could copy files to any place that they named.
    @Test(arguments: ["../one.sqlite", "/tmp/one.sqlite", "..", "", "sub/one.sqlite", "one\\u0000.sqlite"])
    func aPairThatNamesFilesElsewhereIsRefused(name: String) throws {
        let sandbox = try fixtures()
        try sandbox.write(
            "fixtures/two.pair.json",
            #"{"description": "a pair", "a": "one.sqlite", "b": "\#(name)", "differences": []}"#
        )
        let before = try sandbox.state()
        try sandbox.run("verify", "--fixtures", "fixtures").expectError(
            64,
            containing: #""b" has to be the name of a file"#
        )
        #expect(try sandbox.state() == before)
    }
}
