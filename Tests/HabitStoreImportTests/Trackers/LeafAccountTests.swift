import Foundation
import HabitStore
import JSONText
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Tallies of habits and entries said "verified" regardless of the other cells of a CSV file and the other members of a JSON file. Now each of these
/// must
/// be somewhere. The importers here lose something on purpose.
struct LeafAccountTests {
    /// A way in which an importer can lose something.
    struct Loss: Sendable, CustomTestStringConvertible {
        let file: String
        let name: String
        /// The expected text in the account.
        let found: String
        let lose: @Sendable (inout TrackerSource) -> Void

        var testDescription: String { "\(file): \(name)" }
    }

    /// Single-file sources by their names.
    private static let files: [String: String] = [
        "habitbull": """
        HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText,Colour
        Push,on the floor,Sport,2024-02-28,5,a,red
        Push,on the floor,Sport,2024-02-28,6,b,
        Push,on a wall,Sport,2024-02-29,7,c,blue
        Read,,,2024-02-28,1,,
        Read,,Mind,2024-02-29,0,too tired,
        Read,,,2024-03-01,1,,,further

        """,
        "beaver": """
        {"version": 3, "data": {"version": 4, "theme": {"dark": {"accent": "#123456"}}, "habits": [
          {"id": "a1", "name": "Run", "tags": ["health", "dawn"], "star": true, "status": "archive",
           "period": {"period_type": "W", "period_count": 2, "target_count": 3, "from": "May"},
           "records": [{"day": "2024-02-28", "done": true, "text": "5 km", "mood": {"before": 2, "after": 4}},
             {"day": "2024-02-28", "done": true}, {"day": "2024-02-29", "done": false, "text": "rain"}, "odd"]},
          {"name": "Read", "weekly_goal": 5, "records": {"none": "yet"}}]}}
        """,
        "table-habit": """
        {"version": 7, "habits": [
          {"name": "Swim", "create_t": 1700000000, "start_date": 19000, "daily_goal": 2.5, "daily_goal_unit": "km",
           "freq_type": 3, "freq_custom": [1, 1], "status": 1, "color": 4, "uuid": "x", "icon": {"set": {"name": "wave"}},
           "records": [
             {"record_type": 1, "record_date": 19800, "record_value": 2, "reason": "calm", "create_t": 5, "uuid": "y"},
             {"record_type": 1, "record_date": 19800, "record_value": 3}, {"record_type": 2, "record_date": 19801}]}]}
        """,
        "wide.csv": """
        Date,Run,Read,Weather
        2024-02-28,5,x,rain
        2024-02-29,,a book,sun
        2024-03-01,no,,
        2024-03-02,,,

        """,
        "nested.json": """
        {"app": {"name": "Mine", "settings": {"sound": "bell"}}, "exported": "2024-03-03", "habits": [
          {"id": 1, "title": "Run", "measure": "km", "goal": {"per": {"week": 3}}, "checkins": [
            {"day": "2024-02-28", "amount": 5, "where": {"lat": 52.5, "lon": 13.4}},
            {"day": "2024-02-28", "amount": 6}]}]}
        """,
    ]

    /// Multi-file sources by the folder's name.
    private static let folders: [String: [String: String]] = [
        "loop": [
            "Habits.csv": """
            Position,Name,Type,Question,Description,FrequencyNumerator,FrequencyDenominator,Color,Unit,Target Type,Target Value,Archived?
            001,Run,NUMERICAL,How far?,by the river,3,7,#FF,km,AT_LEAST,2.5,true

            """,
            "001 Run/Checkmarks.csv": """
            Date,Value,Notes
            2024-02-28,5000,good,further
            2024-02-28,6000,
            2024-02-29,SKIP,

            """,
            "001 Run/Scores.csv": "Date,Value\n2024-02-28,0.5\n",
            "Checkmarks.csv": "Date,Run\n2024-02-28,5000\n",
        ],
        "harsh": [
            "habits": "# mine\n! Health\nGym: 3/7\nWalk: 0\n! Empty\n",
            "log":
                "2024-02-28 : Gym : y : good : 5\n2024-02-28 : Gym : y\n2024-02-29 : Walk : s\n2024-03-01 : Gym : y : hard : much\n",
        ],
    ]

    private static let mappings: [String: String] = [
        "wide.csv": """
        {"format": 1, "entities": [
          {"source": "wide", "target": "Entry", "attributes": {"Date": "date", "Weather": null}, "columns": ["Run", "Read"]}]}
        """,
        "nested.json": """
        {"format": 1, "entities": [
          {"source": "habits", "target": "Habit", "key": "id", "attributes": {"title": "name", "measure": "unit"}},
          {"source": "habits.checkins", "target": "Entry", "attributes": {"day": "date", "amount": "value"}}]}
        """,
    ]

    static let losses: [Loss] = [
        Loss(file: "loop", name: "a question", found: "Habits.csv.Question") {
            $0.habits.mutate { $0.rest["Question"] = nil }
        },
        Loss(file: "loop", name: "the unit", found: "Habits.csv.Unit") { $0.habits.mutate { $0.unit = nil } },
        Loss(file: "loop", name: "the target", found: "Habits.csv.Target Value") { $0.habits.mutate { $0.target = 2 } },
        Loss(file: "loop", name: "how often", found: "Habits.csv.FrequencyNumerator") {
            $0.habits.mutate { $0.timesPerPeriod = 1 }
        },
        Loss(file: "loop", name: "that it is put away", found: "Archived?") {
            $0.habits.mutate { $0.isArchived = false }
        },
        Loss(file: "loop", name: "a skipped day", found: "1 rows of check marks") { source in
            source.rows.removeAll { $0.what.hasSuffix("skipped") }
        },
        Loss(file: "loop", name: "a score", found: "1 rows of Scores.csv") { source in
            source.rows.removeAll { $0.what.hasPrefix("scores") }
        },
        Loss(file: "loop", name: "a cell after the last column", found: "check marks.row") {
            $0.entries.mutate { $0.rest = [:] }
        },
        Loss(file: "loop", name: "a day that is there twice", found: "1 rows of check marks") {
            $0.entries.removeLast()
        },
        Loss(file: "loop", name: "a value in thousandths", found: "1 rows of check marks") {
            $0.entries[0].value = 5_000
        },
        Loss(file: "harsh", name: "a heading", found: "lines.heading") { $0.habits.mutate { $0.category = nil } },
        Loss(file: "harsh", name: "a heading of nothing", found: "1 rows of headings") { source in
            source.rows.removeAll { $0.what.hasPrefix("habits: headings") }
        },
        Loss(file: "harsh", name: "a remark", found: "1 rows of lines") { source in
            source.rows.removeAll { $0.what == "habits: remarks" }
        },
        Loss(file: "harsh", name: "how often", found: "lines.frequency") { $0.habits.mutate { $0.periodDays = 1 } },
        Loss(file: "harsh", name: "a skipped day", found: "1 rows of log") { source in
            source.rows.removeAll { $0.what == "log: skipped" }
        },
        Loss(file: "harsh", name: "an amount that is not a number", found: "log.amount") {
            $0.entries.mutate { $0.rest = [:] }
        },
        Loss(file: "harsh", name: "a day that is there twice", found: "1 rows of log") { source in
            source.entries.removeAll { $0.note == "good" }
        },
        Loss(file: "habitbull", name: "a column", found: "rows.Colour") {
            $0.entries.mutate { $0.rest["Colour"] = nil }
        },
        Loss(file: "habitbull", name: "a description", found: "rows.HabitDescription") {
            $0.habits.mutate { $0.rest = [:] }
        },
        Loss(file: "habitbull", name: "a category", found: "rows.HabitCategory") {
            $0.habits.mutate { $0.category = nil }
        },
        Loss(file: "habitbull", name: "a row", found: "1 rows of rows") { $0.rows.removeLast() },
        Loss(file: "habitbull", name: "a day that is there twice", found: "1 rows of rows") { source in
            source.entries.removeAll { $0.note == "a" }
        },
        Loss(file: "habitbull", name: "a value", found: "1 rows of rows") { $0.entries[0].value = 5.5 },
        Loss(file: "habitbull", name: "two values exchanged", found: "2 rows of rows") { source in
            (source.entries[0].value, source.entries[2].value) = (source.entries[2].value, source.entries[0].value)
        },
        Loss(file: "habitbull", name: "a remark", found: "1 rows of rows") { $0.entries[1].note = nil },
        Loss(file: "beaver", name: "a nested member", found: "records.after") { source in
            source.entries.mutate { entry in
                if entry.rest["mood"] != nil { entry.rest["mood"] = .object(["before": .int(2)]) }
            }
        },
        Loss(file: "beaver", name: "a tag", found: "habits.tags") { $0.habits.mutate { $0.tags = ["health"] } },
        Loss(file: "beaver", name: "a star", found: "habits.star") { $0.habits.mutate { $0.rest["star"] = nil } },
        Loss(file: "beaver", name: "that it is put away", found: "habits.status") {
            $0.habits.mutate { $0.isArchived = false }
        },
        Loss(file: "beaver", name: "how often", found: "habits.weekly_goal") { source in
            source.habits.mutate { ($0.timesPerPeriod, $0.periodDays) = (1, 1) }
        },
        Loss(file: "beaver", name: "a member of the period", found: "habits.from") {
            $0.habits.mutate { $0.rest["period"] = nil }
        },
        Loss(file: "beaver", name: "a setting", found: "rows of the file") { source in
            source.rows.removeAll { $0.what.hasPrefix("theme") }
        },
        Loss(file: "beaver", name: "one of two versions", found: "1 rows of the file") { source in
            guard let place = source.rows.firstIndex(where: { $0.what.hasPrefix("version") }) else { return }
            source.rows.remove(at: place)
        },
        Loss(file: "beaver", name: "records that are not a list", found: "habits.none") {
            $0.habits.mutate { $0.rest["records"] = nil }
        },
        Loss(file: "beaver", name: "a day that is there twice", found: "1 rows of records") { $0.entries.removeLast() },
        Loss(file: "beaver", name: "a day that was not done", found: "1 rows of records") { source in
            source.rows.removeAll { $0.what == "records: not done" }
        },
        Loss(file: "table-habit", name: "the unit", found: "habits.daily_goal_unit") {
            $0.habits.mutate { $0.unit = nil }
        },
        Loss(file: "table-habit", name: "the goal", found: "habits.daily_goal") { $0.habits.mutate { $0.target = 2 } },
        Loss(file: "table-habit", name: "a nested name", found: "habits.name") {
            $0.habits.mutate { $0.rest["icon"] = nil }
        },
        Loss(file: "table-habit", name: "an identifier", found: "records.uuid") {
            $0.entries.mutate { $0.rest["uuid"] = nil }
        },
        Loss(file: "table-habit", name: "a skipped day", found: "1 rows of records") {
            $0.rows.removeAll { $0.what == "records: skipped" }
        },
        Loss(file: "table-habit", name: "a day that is there twice", found: "1 rows of records") {
            $0.entries.removeLast()
        },
        Loss(file: "wide.csv", name: "a mark", found: "rows of wide") { $0.entries.removeLast() },
        Loss(file: "wide.csv", name: "a column", found: "rows of wide") {
            $0.rows.mutateFields { $0["Weather"] = nil }
        },
        Loss(file: "wide.csv", name: "a day without a mark", found: "1 rows of wide") { $0.rows.removeLast() },
        Loss(file: "nested.json", name: "a setting", found: "1 rows of the file") { source in
            source.rows.removeAll { $0.what.hasPrefix("the file") }
        },
        Loss(file: "nested.json", name: "a nested goal", found: "habits.week") {
            $0.habits.mutate { $0.rest["goal"] = nil }
        },
        Loss(file: "nested.json", name: "where it was", found: "habits.checkins.lon") { source in
            source.entries.mutate { entry in
                if entry.rest["where"] != nil { entry.rest["where"] = .object(["lat": .double(52.5)]) }
            }
        },
        Loss(file: "nested.json", name: "the unit", found: "habits.measure") { $0.habits.mutate { $0.unit = nil } },
        Loss(file: "nested.json", name: "a day that is there twice", found: "1 rows of habits.checkins") {
            $0.entries.removeLast()
        },
    ]

    /// Imports a source with an importer that loses something.
    ///
    /// - Returns: the account's differences.
    private func account(_ file: String, _ lose: (inout TrackerSource) -> Void) throws -> [String] {
        let sandbox = try TrackerSandbox()
        if let folder = Self.folders[file] {
            for (name, text) in folder { try sandbox.folder.write("\(file)/\(name)", text) }
        } else {
            try sandbox.folder.write(file, try #require(Self.files[file]))
        }
        let path = sandbox.folder.path(file)
        let finding: TrackerRecognition.Finding
        if let mapping = Self.mappings[file] {
            try sandbox.folder.write("mapping", mapping)
            let read = try CoreDataMapping(path: sandbox.folder.path("mapping"))
            finding = .tables(try SourceTables(path: path), read, sandbox.options.timeZone)
        } else {
            finding = try TrackerRecognition.find(path, format: nil)
        }
        var source = try finding.read(path)
        lose(&source)
        let options = sandbox.options
        let plan = TrackerPlan(source, name: "", timeZone: options.timeZone, now: options.now)
        try sandbox.store.write { transaction in
            try transaction.insert(contentsOf: plan.tags)
            try transaction.insert(contentsOf: plan.habits)
            try transaction.insert(contentsOf: plan.entries)
        }
        let kept = try AttachmentFile.write(plan.attachment, of: source, named: "", in: sandbox.folder.path("imports"))
        var account = try LeafAccount(plan, in: sandbox.store, attachment: kept, options.timeZone)
        try account.take(finding, path: path)
        return account.differences
    }

    @Test(arguments: (Array(files.keys) + folders.keys).sorted())
    func whatLosesNothingIsAccountedFor(_ file: String) throws {
        let differences = try account(file) { _ in }
        #expect(differences == [])
    }

    @Test(arguments: losses)
    func eachLossIsFoundByTheAccount(_ loss: Loss) throws {
        let differences = try account(loss.file, loss.lose)
        #expect(differences.contains { $0.contains(loss.found) }, "\(differences)")
        // The account does not contain the user's words.
        for word in ["too tired", "5 km", "#123456", "rain", "a book", "bell", "Push", "Swim", "much", "Gym"] {
            #expect(differences.allSatisfy { !$0.contains(word) })
        }
    }

    /// Cells and members that the readers once dropped: a different category or description in a later row, cells beyond the header, a malformed
    /// target or
    /// frequency, a second meaning of a name, members of a period, remarks in lines.
    @Test func whatTheReadersOnceDroppedIsKept() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write("bull", try #require(Self.files["habitbull"]))
        let bull = try sandbox.attachment(try sandbox.run("bull"))
        #expect(bull.contains { ($0["fields"] as? [String: Any])?["HabitDescription"] as? String == "on a wall" })
        #expect(bull.contains { ($0["fields"] as? [String: Any])?["column 8"] as? String == "further" })
        let harsh = try TrackerSandbox()
        try harsh.folder.write("harsh/habits", "! Nothing here\n! Health\nGym: 3/7: at dawn\nWalk: 1\n")
        try harsh.folder.write("harsh/log", "2024-02-28 : Gym : y : good : 5\n2024-02-29 : Walk : n : :\n")
        let lines = try harsh.attachment(try harsh.run("harsh"))
        #expect(lines.contains { $0["what"] as? String == "habits: headings of nothing" })
        #expect(lines.contains { ($0["fields"] as? [String: Any])?["further"] as? [String] == ["at dawn"] })
        let loop = try TrackerSandbox()
        try loop.folder.write(
            "loop/Habits.csv",
            """
            Position,Name,Type,Question,FrequencyNumerator,FrequencyDenominator,Color,Unit,Target Type,Target Value,Archived?
            001,Run,NUMERICAL,How far?,often,1,#FF,km,AT_LEAST,far,perhaps

            """
        )
        try loop.folder.write("loop/001 Run/Checkmarks.csv", "Date,Value,Notes\n2024-02-28,5000,good,by the river\n")
        let kept = try loop.attachment(try loop.run("loop")).compactMap { $0["fields"] as? [String: Any] }
        #expect(kept.contains { $0["Target Value"] as? String == "far" && $0["Archived?"] as? String == "perhaps" })
        #expect(kept.contains { $0["FrequencyNumerator"] as? String == "often" })
        #expect(kept.contains { $0["row"] as? [String] == ["by the river"] })
    }
}

extension [TrackerHabit] {
    fileprivate mutating func mutate(_ body: (inout TrackerHabit) -> Void) {
        for place in indices { body(&self[place]) }
    }
}

extension [TrackerEntry] {
    fileprivate mutating func mutate(_ body: (inout TrackerEntry) -> Void) {
        for place in indices { body(&self[place]) }
    }
}

extension [TrackerRow] {
    fileprivate mutating func mutateFields(_ body: (inout [String: JSON]) -> Void) {
        self = map { row in
            var fields = row.fields
            body(&fields)
            return TrackerRow(what: row.what, fields: fields)
        }
    }
}
