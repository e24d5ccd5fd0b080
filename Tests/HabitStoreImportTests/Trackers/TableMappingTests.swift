import Foundation
import HabitStore
import HabitTracker
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

    @Test(arguments: ["year.csv", "x.json"])
    func theSuggestionFitsAsItIs(_ name: String) throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write("year.csv", "Date,Run,Read\n28.02.2024,x,\n29.02.2024,,x\n")
        try sandbox.folder.write(
            "x.json",
            "{\"habits\": [{\"name\": \"Run\", \"checkins\": [{\"date\": \"2024-02-28\", \"note\": \"rain\"}]}]}"
        )
        let suggested = try CoreDataMapping.suggested(forTablesAt: sandbox.folder.path(name))
        let read = try mapping(try suggested.json())
        #expect(read == suggested)
        #expect(read.openQuestions == [])
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
        let question = try message { $0.entities[1].questions["state"] = "which values are entries?" }
        #expect(question.contains("an open question, checkins.state: which values are entries?"))
        #expect(question.hasSuffix("edit the mapping, then delete the question"))
    }

    // MARK: Suggestions

    private func suggested(_ sandbox: TrackerSandbox, _ name: String) throws -> CoreDataMapping {
        try CoreDataMapping.suggested(forTablesAt: sandbox.folder.path(name))
    }

    private func suggested(_ name: String, _ text: String) throws -> CoreDataMapping {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write(name, text)
        return try suggested(sandbox, name)
    }

    private func refusal(_ sandbox: TrackerSandbox, _ name: String) -> String {
        let path = sandbox.folder.path(name)
        let error = #expect(throws: HabitStoreError.self) { try TrackerImport(path: path, sandbox.options) }
        #expect(error?.code == .invalidValue)
        return error?.message ?? ""
    }

    @Test func whatADatabaseDoesNotSayIsAsked() throws {
        let sandbox = try backup()
        var mapping = try suggested(sandbox, "x")
        #expect(mapping.openQuestions.map { String($0.prefix(14)) } == ["checkins.day: ", "checkins.state"])
        #expect(mapping.entities.first { $0.source == "habits" }?.key == "id")
        sandbox.options.mapping = mapping
        #expect(refusal(sandbox, "x").contains("checkins.day: 1 of its values are no days"))
        let place = try #require(mapping.entities.firstIndex { $0.source == "checkins" })
        (mapping.entities[place].only, mapping.entities[place].questions) = (["state": [.int(1)]], [:])
        sandbox.options.mapping = mapping
        try sandbox.run("x")
        #expect(try sandbox.entries() == ["Read 2024-03-02", "Run 2024-02-28 5.5 rain", "Run 2024-02-29"])
    }

    private static let streaks = """
        task_id,title,icon,entry_type,entry_date,entry_timestamp,page,quantity
        11111111-1111-4111-8111-111111111111,Walk the Dog,ic_dog,completed_manually,20260105,2026-01-05T18:20:00Z,0,0.0
        11111111-1111-4111-8111-111111111111,Walk the Dog,ic_dog,missed_auto,20260106,2026-01-07T05:00:00Z,0,0.0
        11111111-1111-4111-8111-111111111111,Walk the Dog,ic_dog,completed_auto,20260108,2026-01-08T23:30:00Z,0,0.0

        """

    /// Of the CSV of Streaks, missed days became entries of a habit that was called by its identifier.
    @Test func daysThatWereMissedAreNoEntriesUnlessThePersonSaysSo() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write("streaks.csv", Self.streaks)
        var mapping = try suggested(sandbox, "streaks.csv")
        #expect(mapping.entities[0].questions.keys.sorted() == ["entry_type"])
        sandbox.options.mapping = mapping
        #expect(refusal(sandbox, "streaks.csv").contains("streaks.entry_type: which of its values are entries?"))
        mapping.entities[0].only = ["entry_type": [.string("completed_manually"), .string("completed_auto")]]
        mapping.entities[0].questions = [:]
        sandbox.options.mapping = mapping
        try sandbox.run("streaks.csv")
        #expect(try sandbox.entries() == ["Walk the Dog 2026-01-05", "Walk the Dog 2026-01-08"])
    }

    @Test(arguments: [
        ("type", ["completed", "completed"], false), ("type", ["missed", "missed"], true), ("done", ["1", "0"], true),
        ("done", ["1", "1"], false), ("done", ["x", ""], true), ("skipped", ["yes", "yes"], true),
        ("how", ["done", "skip"], true),
        ("place", ["park", "home"], false), ("deleted", ["0", "0"], false), ("deleted_at", ["", "2026-02-01"], true),
        ("value", ["0", "1"], true), ("value", ["2", "3"], false), ("value", ["2", "much"], true),
    ])
    func aColumnThatSaysWhatHappenedIsAQuestion(_ column: (name: String, values: [String], isAsked: Bool)) throws {
        let rows = column.values.enumerated().map { "Run,2026-01-0\($0 + 1),\($1)\n" }.joined()
        let mapping = try suggested("log.csv", "habit,date,\(column.name)\n" + rows)
        #expect(mapping.entities[0].target == "Entry")
        #expect(mapping.entities[0].questions.keys.sorted() == (column.isAsked ? [column.name] : []))
    }

    /// Weekdays, times of day and notes of a diary became habits.
    @Test(arguments: [
        "full_date,date,weekday,time,mood,activities,note\n2026-05-30,30 May,Saturday,6:50 pm,rad,friends | gaming,Fine\n"
            + "2026-05-29,29 May,Friday,9:10 pm,meh,work | nap,\n",
        "Date,Run,Notes\n2026-01-01,x,tired\n2026-01-02,,\n",
        "Date,Weight,Steps\n2026-01-01,70.5,10000\n2026-01-02,70.2,4000\n",
        "Date,Run,Weekday\n2026-01-01,x,4\n2026-01-02,,5\n", "Date,done\n2026-01-01,1\n2026-01-02,0\n",
        "Date,Run,Stunde\n2026-01-01,x,7\n2026-01-02,,8\n",
    ])
    func theColumnsOfADiaryAreNoHabits(_ text: String) throws {
        let entity = try suggested("diary.csv", text).entities[0]
        #expect(entity.columns == nil)
        #expect(entity.target != "Habit")
        #expect(!entity.questions.isEmpty)
    }

    @Test(arguments: [
        ("1767312000", "1767398400", "secondsSince1970"), ("1767312000000", "1767398400000", "millisecondsSince1970"),
        ("2026/01/02", "2026/01/13", "yearMonthDay"), ("20260102", "20260113", "yearMonthDay"),
        ("02/01/2026", "13/01/2026", "dayMonthYear"), ("1/2/2026", "1/13/2026", "monthDayYear"),
        ("20455", "20456", "daysSince1970"),
    ])
    func daysInTextsAreRead(_ days: (first: String, second: String, form: String)) throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write("log.csv", "habit,date,amount\nRun,\(days.first),3\nRun,\(days.second),4\n")
        let mapping = try suggested(sandbox, "log.csv")
        #expect(mapping.entities[0].dates == days.form)
        #expect(mapping.openQuestions == [])
        sandbox.options.mapping = mapping
        try sandbox.run("log.csv")
        #expect(try sandbox.store.all(Entry.self).compactMap(\.value).sorted() == [3, 4])
        #expect(try sandbox.entries()[0].hasPrefix("Run 2026-01-0"))
    }

    /// A log whose days were not understood became a list of habits, called by their days.
    @Test(arguments: [
        "habit,date\nRun,19-06-24\nRun,20-06-24\n", "habit,date\nRun,02/01/2026\nRun,03/01/2026\n",
        "habit,date\nRun,Jan 5\nRun,Jan 6\n", "Id,Date,Quantity\n1,01-01-24,3\n2,02-01-24,3\n3,03-01-24,5\n",
        "when,what\n5 Jan 2026,Run\n6 Jan 2026,Run\n", "habit,created_at\nRun,2026-01-01\nRun,2026-01-02\n",
    ])
    func daysThatAreNotCertainAreNoNames(_ text: String) throws {
        let sandbox = try TrackerSandbox()
        try sandbox.folder.write("log.csv", text)
        let mapping = try suggested(sandbox, "log.csv")
        #expect(mapping.entities[0].target != "Habit")
        #expect(!mapping.entities[0].attributes.values.contains("date"))
        sandbox.options.mapping = mapping
        #expect(refusal(sandbox, "log.csv").contains("open question, log."))
    }

    @Test func severalListsOfHabitsAreAQuestionAndAnIdentifierIsNoName() throws {
        let mapping = try suggested(
            "user.json",
            """
            {"tasks": {"habits": [{"id": "11111111-1111-4111-8111-111111111111", "text": "Drink water", "notes": "",
              "history": [{"date": 1767686400000, "value": 1}, {"date": 1767772800000, "value": 1.97}]}],
             "dailys": [{"id": "22222222-2222-4222-8222-222222222222", "text": "Stretch",
              "history": [{"date": 1767686400000, "completed": true}, {"date": 1767772800000, "completed": false}]}]}}
            """
        )
        let entities = Dictionary(uniqueKeysWithValues: mapping.entities.map { ($0.source, $0) })
        #expect(entities["tasks.habits"]?.target == "Habit")
        #expect(entities["tasks.habits"]?.attributes["text"] == .some("name"))
        for list in ["tasks.dailys", "tasks.dailys.history", "tasks.habits.history"] {
            #expect(entities[list]?.target == nil)
            #expect(entities[list]?.questions["target"] != nil, "\(list)")
        }
        #expect(entities["tasks.dailys.history"]?.questions["completed"] != nil)
        let codes = try suggested("habits.csv", "uuid,wording\n11111111-1111-4111-8111-111111111111,Tea\n")
        #expect(codes.entities[0].questions["wording"]?.hasPrefix("name, or null?") == true)
    }

    @Test func aLogIsNoListOfHabits() throws {
        let rows = "Run,2026-01-01,5\nRun,2026-01-02,6\nRead,2026-01-02,7\n"
        let entity = try suggested("activities.csv", "name,date,minutes\n" + rows).entities[0]
        #expect(entity.target == "Entry")
        #expect(entity.questions.keys.sorted() == ["name"])
        let tasks = try suggested("tasks.csv", "id,title,done\n1,Buy milk,1\n2,Call Ann,0\n").entities[0]
        #expect(tasks.questions.keys.sorted() == ["done"])
        let lists = try suggested(
            "x.json",
            #"{"habits": [{"name": "Run", "completedDates": [1767312000000, 1767398400000]}]}"#
        )
        #expect(lists.entities[0].questions.keys.sorted() == ["completedDates"])
        // Nobody's list of settings is one either.
        #expect(try suggested("settings.csv", "name,value\ntheme,dark\n").entities[0].target == nil)
    }

    /// The tables of a search index became habits.
    @Test func aSearchIndexIsNoList() throws {
        let sandbox = try backup()
        try sandbox.database(
            "y",
            """
            CREATE TABLE habits (id INTEGER PRIMARY KEY, title TEXT); CREATE VIRTUAL TABLE habits_ft USING fts5(title);
            CREATE TABLE log (id INTEGER PRIMARY KEY, what INTEGER REFERENCES habits (id), day TEXT);
            INSERT INTO habits VALUES (1, 'Run'), (2, 'Read'); INSERT INTO habits_ft SELECT title FROM habits;
            INSERT INTO log VALUES (1, 1, '2026-01-01'), (2, 2, '2026-01-01');
            """
        )
        let mapping = try suggested(sandbox, "y")
        #expect(mapping.entities.filter { $0.target != nil }.map(\.source).sorted() == ["habits", "log"])
        #expect(mapping.openQuestions == [])
        for entity in mapping.entities where entity.source.hasPrefix("habits_ft") {
            #expect(entity.about["target"]?.hasPrefix("null: habits_ft is a virtual table") == true)
        }
        sandbox.options.mapping = mapping
        try sandbox.run("y")
        #expect(try sandbox.entries() == ["Read 2026-01-01", "Run 2026-01-01"])
    }

    @Test func theCommandNamesItsQuestionsAndRefusesThemUntilTheyAreAnswered() throws {
        let sandbox = try TrackerSandbox()
        let home = sandbox.folder.url
        let path = try sandbox.folder.write("streaks.csv", Self.streaks)
        let run = try CommandLineRun("import", path, "--suggest-mapping", home: home)
        #expect(run.status == 0)
        #expect(run.errors.hasPrefix("habitstore: note: open question: streaks.entry_type: "))
        let mapping = try sandbox.folder.write("m.json", run.output)
        let store = sandbox.folder.path("store")
        for further in [["--dry-run"], []] {
            let words = ["import", path, "--mapping", mapping, "--into", "sqlite:\(store)"] + further
            let refused = try CommandLineRun(words, home: home)
            #expect(refused.status == 64)
            #expect(refused.errors.contains("streaks.entry_type: which of its values are entries?"))
        }
        #expect(!FileManager.default.fileExists(atPath: store))
    }
}
