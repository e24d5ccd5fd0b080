import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Files of apps without a reader, imported with a mapping in the format for Core Data files.
@Suite struct TableMappingTests {
    private func mapping(_ text: String) throws -> CoreDataMapping { try CoreDataMapping(parsing: Data(text.utf8)) }

    private func backup() throws -> TrackerSandbox {
        let sandbox = try TrackerSandbox()
        try sandbox.database(
            "x",
            """
            CREATE TABLE habits (id INTEGER PRIMARY KEY, title TEXT, created INTEGER, archived INTEGER, colour TEXT);
            CREATE TABLE checkins (id INTEGER PRIMARY KEY, habit_id INTEGER, day TEXT, amount REAL, comment TEXT, state INTEGER);
            CREATE TABLE settings (name TEXT, value TEXT);
            INSERT INTO habits VALUES (7, 'Run', 1700000000, 0, 'red'), (9, 'Read', 1700000000, 1, NULL);
            INSERT INTO checkins VALUES (1, 7, '2024-02-28', 5.5, 'rain', 1), (2, 7, '2024-02-29', NULL, NULL, 1),
              (3, 9, '2024-02-29', NULL, NULL, 0), (4, 8, '2024-03-01', NULL, NULL, 1), (5, 9, 'soon', NULL, NULL, 1),
              (6, 9, '2024-03-02 07:30', NULL, NULL, 1);
            INSERT INTO settings VALUES ('theme', 'dark');
            """
        )
        return sandbox
    }

    private static let backupMapping = """
        {"format": 1, "entities": [
          {"source": "habits", "target": "Habit", "key": "id", "dates": "secondsSince1970",
           "attributes": {"title": "name", "created": "createdAt", "archived": "isArchived", "colour": null}},
          {"source": "checkins", "target": "Entry", "only": {"state": [1]},
           "attributes": {"day": "date", "amount": "value", "comment": "note"}, "relationships": {"habit_id": "habit"}},
          {"source": "settings", "target": null}]}
        """

    @Test func aDatabaseOfHabitsAndCheckInsIsReadAndTheRestIsKept() throws {
        let sandbox = try backup()
        sandbox.options.mapping = try mapping(Self.backupMapping)
        let report = try sandbox.run("x")
        #expect(try sandbox.entries() == ["Read 2024-03-02", "Run 2024-02-28 5.5 rain", "Run 2024-02-29"])
        let run = try sandbox.habit("Run")
        #expect(run.createdAt == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(try sandbox.habit("Read").isArchived == true)
        #expect(report.kept("checkins: left out by the mapping") == 1)
        #expect(report.kept("checkins: of a habit that is not there") == 1)
        #expect(report.kept("checkins: on a day that cannot be read") == 1)
        #expect(report.kept("settings: no place here") == 1)
        #expect(report.kept("habit.colour") == 1)
        // A second run finds nothing new.
        let again = try sandbox.run("x")
        #expect(again.entries.added == 0)
        #expect(again.habits.added == 0)
    }

    @Test func aColumnForEachHabitBecomesHabits() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write(
            "year.csv",
            """
            Date,Run,Read,Water,Mood
            2024-02-28,x,,3,fine
            2024-02-29,0,yes,,
            2024-03-01,1,no,2.5,
            """
        )
        sandbox.options.mapping = try mapping(
            """
            {"format": 1, "entities": [{"source": "year", "target": "Entry", "attributes": {"Date": "date", "Mood": null},
              "columns": ["Run", "Read", "Water"]}]}
            """
        )
        let report = try sandbox.run("year.csv")
        #expect(
            try sandbox.entries() == [
                "Read 2024-02-29", "Run 2024-02-28", "Run 2024-03-01", "Water 2024-02-28 3.0", "Water 2024-03-01 2.5",
            ]
        )
        #expect(report.kept("year: not kept, or no place here") == 3)
    }

    @Test func checkInsWithinHabitsAreReadFromJSON() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write(
            "x.json",
            """
            {"version": 3, "habits": [
              {"title": "Run", "icon": "shoe", "days": ["2024-02-28", "2024-02-29"]},
              {"title": "Read", "days": ["2024-03-01"]}]}
            """
        )
        sandbox.options.mapping = try mapping(
            """
            {"format": 1, "entities": [
              {"source": "habits", "target": "Habit", "attributes": {"title": "name"}},
              {"source": "habits.days", "target": "Entry", "attributes": {"value": "date"}}]}
            """
        )
        let report = try sandbox.run("x.json")
        #expect(try sandbox.entries() == ["Read 2024-03-01", "Run 2024-02-28", "Run 2024-02-29"])
        #expect(report.kept("habit.icon") == 1)
    }

    @Test(arguments: ["x", "year.csv", "x.json"])
    func theSuggestionFitsAsItIs(_ name: String) throws {
        let sandbox = try backup()
        try sandbox.folder.write("year.csv", "Date,Run,Read\n28.02.2024,x,\n29.02.2024,,x\n")
        try sandbox.folder.write(
            "x.json",
            "{\"habits\": [{\"name\": \"Run\", \"checkins\": [{\"date\": \"2024-02-28\", \"note\": \"rain\"}]}]}"
        )
        let suggested = try CoreDataMapping.suggested(forTablesAt: sandbox.folder.path(name))
        let read = try mapping(try suggested.json())
        #expect(read == suggested)
        sandbox.options.mapping = read
        try sandbox.run(name)
        let entries = try sandbox.entries()
        #expect(entries.contains { $0.hasPrefix("Run 2024-02-28") }, "\(entries)")
        let entity = try #require(suggested.entities.first { $0.target == "Entry" })
        #expect(entity.about.values.contains { $0.contains("becomes date: its values are days") })
    }

    @Test func aSlipInTheMappingIsNamed() throws {
        let sandbox = try backup()
        func message(_ change: (inout CoreDataMapping) -> Void) throws -> String {
            var changed = try mapping(Self.backupMapping)
            change(&changed)
            sandbox.options.mapping = changed
            let path = sandbox.folder.path("x")
            let error = #expect(throws: HabitStoreError.self) { try TrackerImport(path: path, sandbox.options) }
            #expect(error?.code == .invalidValue)
            return error?.message ?? ""
        }
        #expect(try message { $0.entities[0].source = "habit" }.contains("there is no list habit; there are checkins"))
        #expect(try message { $0.entities[0].target = "Tag" }.contains("can become Habit or Entry"))
        #expect(try message { $0.entities[0].attributes["titel"] = "name" }.contains("habits has no column titel"))
        #expect(try message { $0.entities[0].attributes["title"] = "title" }.contains("Habit has no attribute title"))
        #expect(try message { $0.entities[1].attributes["day"] = .some(nil) }.contains("Entry.date needs a column"))
        #expect(try message { $0.entities[0].dates = "unix" }.contains("dates is unix"))
    }
}
