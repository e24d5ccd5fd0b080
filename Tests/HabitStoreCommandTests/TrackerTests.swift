import Foundation
import Testing

/// The tracker on both engines, end to end.
struct TrackerTests {
    @Test(arguments: [("sqlite", "lmdb"), ("lmdb", "sqlite")])
    func aUserWhoIsToggledThereAndBackKeepsEverything(engine: String, other: String) throws {
        let sandbox = try Sandbox()
        try sandbox.want(engine)
        let run = ["habit", "add", "Run", "--times", "3", "--period", "7", "--unit", "km", "--tag", "sport"]
        try sandbox.run(run).expectSuccess()
        try sandbox.run("habit", "add", "Read", "--category", "mind").expectSuccess()
        try sandbox.run("checkin", "Run", "--value", "5.5", "--note", "schön 🏃‍♂️").expectSuccess()
        try sandbox.run("checkin", "Read", "--at", "yesterday").expectSuccess()
        try sandbox.run("checkin", "Read").expectSuccess()
        try sandbox.run("draft", "add", "unfinished", "--attach", "a.png").expectSuccess()
        let listings = [
            ["habit", "list"], ["tag", "list"], ["draft", "list"], ["entry", "list", "Run"], ["entry", "list", "Read"],
            ["habit", "show", "Run"], ["search", "SCHON"], ["chart", "Read"], ["query", "Entry", "--sort", "-date"],
        ].map { $0 + ["--format", "json"] }
        let before = try listings.map { try sandbox.run($0).output }
        #expect(before.allSatisfy { !$0.isEmpty })

        try sandbox.want(other)
        let status = try sandbox.run("status", "--format", "json")
        #expect(status.errors.hasPrefix("habitstore: note: switched from \(engine) to \(other), verified at token 6\n"))
        #expect(try status.json()["engine"] as? String == other)
        #expect(try listings.map { try sandbox.run($0).output } == before)
        try sandbox.run("checkin", "Run", "--at", "yesterday", "--value", "3").expectSuccess()
        try sandbox.run("habit", "archive", "Read").expectSuccess()
        try sandbox.run("tag", "rename", "sport", "outdoors").expectSuccess()
        let after = try listings.map { try sandbox.run($0).output }
        #expect(after != before)

        try sandbox.want(engine)
        #expect(try sandbox.run("status", "--format", "json").json()["engine"] as? String == engine)
        #expect(try listings.map { try sandbox.run($0).output } == after)
        let root = sandbox.path("data/habitstore")
        let verified = try sandbox.run("verify", "--root", root, "--user", "alice", "--format", "json")
        verified.expectSuccess()
        #expect(try verified.json()["verdict"] as? String == "match")
    }

    @Test func streaksFollowTheEntriesAndTheSchedule() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Read").expectSuccess()
        for day in ["today", "yesterday"] { try sandbox.run("checkin", "Read", "--at", day).expectSuccess() }
        let old = ["2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"]
        for day in old { try sandbox.run("checkin", "Read", "--at", day).expectSuccess() }
        let habit = try #require(try sandbox.run("habit", "list", "--format", "json").list("habits").first)
        #expect(habit["currentStreak"] as? Int == 2)
        // Five days in a row, over the change to summer time in Berlin.
        #expect(habit["longestStreak"] as? Int == 5)
        #expect(habit["streak"] as? Int == 5)
        #expect(habit["entryCount"] as? Int == 7)
        let entries = try sandbox.run("entry", "list", "Read", "--format", "json").list("entries")
        let middle = try #require(entries.first { ($0["date"] as? String)?.hasPrefix("2026-03-29") == true })
        // Noon on the wall clock in Berlin, in summer time.
        #expect(middle["date"] as? String == "2026-03-29T10:00:00.000Z")
        try sandbox.run("entry", "delete", try #require(middle["id"] as? String)).expectSuccess()
        let shorter = try #require(
            try sandbox.run("habit", "show", "Read", "--format", "json").json()["habit"] as? [String: Any]
        )
        #expect(shorter["streak"] as? Int == 2)
        try sandbox.run("habit", "edit", "Read", "--period", "7").expectSuccess()
        let weekly = try #require(
            try sandbox.run("habit", "show", "Read", "--format", "json").json()["habit"] as? [String: Any]
        )
        #expect(weekly["streakUnitDays"] as? Int == 7)
        #expect((weekly["longestStreak"] as? Int ?? 0) >= 1)
        #expect(weekly["streak"] as? Int == weekly["longestStreak"] as? Int)
    }

    @Test func entriesAreEditedAndMovedToAnotherHabit() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("habit", "add", "Read").expectSuccess()
        let added = try sandbox.run("checkin", "Run", "--value", "2", "--format", "json").json()
        let entry = try #require((added["entry"] as? [String: Any])?["id"] as? String)
        try sandbox.run("entry", "edit", String(entry.prefix(8)), "--note", "", "--no-value", "--habit", "Read")
            .expectSuccess()
        #expect(try sandbox.run("entry", "list", "Run", "--format", "json").list("entries").isEmpty)
        let moved = try #require(try sandbox.run("entry", "list", "Read", "--format", "json").list("entries").first)
        #expect(moved["note"] as? String == "")
        #expect(moved["value"] is NSNull)
        let habits = try sandbox.run("habit", "list", "--format", "json").list("habits")
        #expect(habits.map { $0["name"] as? String } == ["Read", "Run"])
        #expect(habits.map { $0["streak"] as? Int } == [1, 0])
    }

    /// `--value -2` was parsed as an option without a value.
    @Test func valuesBelowZeroAndNotesThatBeginWithADashAreTaken() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Balance", "--target", "-1.5").expectSuccess()
        try sandbox.run("checkin", "Balance", "--value", "-2", "--note", "- less than nothing").expectSuccess()
        let entry = try #require(try sandbox.run("entry", "list", "Balance", "--format", "json").list("entries").first)
        #expect(entry["value"] as? Double == -2)
        #expect(entry["note"] as? String == "- less than nothing")
    }

    @Test func anArchivedHabitIsListedApart() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("habit", "archive", "Run").expectSuccess()
        #expect(try sandbox.run("habit", "list", "--format", "json").list("habits").isEmpty)
        #expect(try sandbox.run("habit", "list", "--archived", "--format", "json").list("habits").count == 1)
        try sandbox.run("habit", "archive", "Run", "--undo").expectSuccess()
        #expect(try sandbox.run("habit", "list", "--format", "json").list("habits").count == 1)
    }

    @Test func habitsAreListedByCategoryAndTag() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run", "--category", "body", "--tag", "sport", "--tag", "out").expectSuccess()
        try sandbox.run("habit", "add", "Swim", "--category", "body", "--tag", "sport").expectSuccess()
        try sandbox.run("habit", "add", "Read", "--category", "mind").expectSuccess()
        func names(_ arguments: String...) throws -> [String?] {
            try sandbox.run(["habit", "list", "--format", "json"] + arguments).list("habits").map {
                $0["name"] as? String
            }
        }
        #expect(try names("--category", "body") == ["Run", "Swim"])
        #expect(try names("--tag", "sport") == ["Run", "Swim"])
        #expect(try names("--tag", "out") == ["Run"])
        try sandbox.run("habit", "edit", "Run", "--untag", "sport", "--tag", "new").expectSuccess()
        #expect(try names("--tag", "sport") == ["Swim"])
        let tags = try sandbox.run("tag", "list", "--format", "json").list("tags")
        #expect(tags.map { $0["name"] as? String } == ["new", "out", "sport"])
        #expect(tags.map { $0["habitCount"] as? Int } == [1, 1, 1])
        try sandbox.run("tag", "delete", "sport").expectSuccess()
        #expect(try names() == ["Read", "Run", "Swim"])
        try sandbox.run("tag", "add", "new").expectError(64, containing: "")
    }

    @Test func deletingAHabitDeletesItsEntriesAndNoOthers() throws {
        let sandbox = try Sandbox()
        for name in ["Run", "Read"] {
            try sandbox.run("habit", "add", name).expectSuccess()
            try sandbox.run("checkin", name).expectSuccess()
            try sandbox.run("checkin", name, "--at", "yesterday").expectSuccess()
        }
        let deleted = try sandbox.run("habit", "delete", "Run")
        #expect(deleted.output.hasSuffix("Run and 2 entries\n"))
        #expect(try sandbox.run("query", "Entry", "--count").output == "2\n")
        #expect(try sandbox.run("query", "Habit", "--count").output == "1\n")
    }

    @Test func draftsAreKeptAndChanged() throws {
        let sandbox = try Sandbox()
        let added = try sandbox.run("draft", "add", "line 1\nline 2", "--attach", "a.png", "--format", "json").json()
        let id = try #require((added["draft"] as? [String: Any])?["id"] as? String)
        #expect(try sandbox.run("draft", "show", id).output == "line 1\nline 2\nattached: a.png\n")
        try sandbox.run("draft", "edit", id, "--text", "new", "--attach", "b.png", "--detach", "a.png").expectSuccess()
        #expect(try sandbox.run("draft", "show", id).output == "new\nattached: b.png\n")
        try sandbox.run("draft", "delete", id).expectSuccess()
        #expect(try sandbox.run("draft", "list", "--format", "json").list("drafts").isEmpty)
    }

    @Test func aChartIsDrawnInASCIIWhenAskedFor() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Run").expectSuccess()
        try sandbox.run("checkin", "Run").expectSuccess()
        let chart = try sandbox.run("chart", "Run", "--ascii", "--days", "7")
        chart.expectSuccess()
        #expect(!chart.output.contains { !$0.isASCII })
        #expect(chart.output.contains("current streak 1 day, longest 1 day"))
        #expect(try sandbox.run("chart", "Run").output.contains("█"))
        let days = try sandbox.run("chart", "Run", "--days", "7", "--format", "json").list("days")
        #expect(days.map { $0["count"] as? Int } == [0, 0, 0, 0, 0, 0, 1])
    }

    @Test func aSearchLooksEverywhereAndOverlooksCaseAndAccents() throws {
        let sandbox = try Sandbox()
        try sandbox.run("habit", "add", "Café visit", "--category", "CAFE", "--tag", "cafés").expectSuccess()
        try sandbox.run("checkin", "Café visit", "--note", "the cafe\u{301} was closed").expectSuccess()
        try sandbox.run("draft", "add", "about Cafes").expectSuccess()
        try sandbox.run("draft", "add", "something else").expectSuccess()
        let results = try sandbox.run("search", "cafe", "--format", "json").list("results")
        let found = results.map { "\($0["entity"] ?? "").\($0["attribute"] ?? "")" }
        #expect(found == ["Habit.name", "Habit.category", "Entry.note", "Tag.name", "Draft.content"])
        #expect(try sandbox.run("search", "nothing of the kind").output == "nothing found\n")
    }
}
