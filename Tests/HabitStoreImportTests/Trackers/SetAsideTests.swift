import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// "Verified" meant that the verification shared the importer's idea of an entry: when both ignored measured days, all of a habit's days
/// were set aside with exit code 0. The witness now decides independently which values mean that nothing was done; a source or a habit whose
/// other rows mostly did not become records is a finding.
@Suite struct SetAsideTests {
    private let sandbox: TrackerSandbox

    init() throws { sandbox = try TrackerSandbox() }

    private func setAside(_ name: String) throws -> [String] {
        try #require(try sandbox.run(name).verification).setAside
    }

    // MARK: Loop's export without types

    static let untyped = [
        "Habits.csv": """
        Position,Name,Question,Description,NumRepetitions,Interval,Color
        001,Walk,How far?,,1,1,#FF8F00
        002,Sit,,,1,1,#00897B

        """,
        "001 Walk/Checkmarks.csv": "2023-06-03,7500\n2023-06-02,3\n2023-06-01,0\n2023-05-31,-1\n2023-05-30,12000\n",
        "002 Sit/Checkmarks.csv": "2023-06-03,2\n2023-06-02,0\n2023-06-01,2\n2023-05-31,1\n2023-05-30,3\n",
        "Checkmarks.csv":
            "Date,Walk,Sit,\n2023-06-03,7500,2,\n2023-06-02,3,0,\n2023-06-01,0,2,\n2023-05-31,-1,1,\n2023-05-30,12000,3,\n",
    ]

    /// Exports of Loop 2.0 to 2.3.0 do not say which habits are measured; their amounts are in thousandths. None of these days was imported, and the
    /// report
    /// said "verified".
    @Test(arguments: ["everything", "only the table of all", "only the habits' files", "a type that is empty"])
    func theDaysOfAMeasuredHabitArriveFromAnExportWithoutTypes(_ variant: String) throws {
        for (name, text) in Self.untyped {
            if variant == "only the table of all", name.hasPrefix("00") { continue }
            if variant == "only the habits' files", name == "Checkmarks.csv" { continue }
            var text = text
            if variant == "a type that is empty", name == "Habits.csv" {
                text = text.replacingOccurrences(of: "Question", with: "Type").replacingOccurrences(
                    of: "How far?",
                    with: ""
                )
            }
            try sandbox.folder.write("e/" + name, text)
        }
        let report = try sandbox.run("e")
        #expect(
            try sandbox.entries() == [
                "Sit 2023-06-01", "Sit 2023-06-03", "Walk 2023-05-30 12.0", "Walk 2023-06-01 0.0",
                "Walk 2023-06-03 7.5",
            ]
        )
        #expect(report.odd("habits without a type, measured by their values") == 1)
        #expect(report.verification?.setAside == [])
        #expect(report.losses == [])
    }

    @Test func theWitnessExpectsAmountsWhateverTheTypeIsSaidToBe() throws {
        for (name, text) in Self.untyped { try sandbox.folder.write("e/" + name, text) }
        try sandbox.folder.write(
            "e/Habits.csv",
            "Position,Name,Type,NumRepetitions,Interval\n001,Walk,YES_NO,1,1\n002,Sit,YES_NO,1,1\n"
        )
        let work = try TrackerImport(path: sandbox.folder.path("e"), sandbox.options)
        let report = try work.run(into: sandbox.store, attachmentsIn: sandbox.folder.path("imports"))
        #expect(report.verification?.isEqual == false)
        #expect(report.verification?.setAside.isEmpty == false)
    }

    // MARK: Mostly set aside

    static let mostlyAside: [(file: String, text: String)] = [
        (
            "h.csv",
            """
            HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText
            Push,,,2024-02-28,five,
            Push,,,2024-02-29,six,
            Push,,,2024-02-30,1,
            Push,,,2024-03-01,1,

            """
        ),
        // One habit of two is lost, but less than half of the file.
        (
            "one.csv",
            """
            HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText
            Push,,,2024-02-28,1,
            Push,,,2024-02-29,1,
            Push,,,2024-03-01,1,
            Pull,,,2024-02-28,five,
            Pull,,,2024-02-29,six,

            """
        ),
        (
            "log",
            "2024-02-26 : Gym : n\n2024-02-27 : Gym : n\n2024-02-28 : Gym : y\n2024-02-30 : Gym : y\n2024-02-31 : Gym : y\n"
        ),
        (
            "b.json",
            #"{"habits": [{"name": "Run", "records": [{"day": "2024-02-30", "done": true}, {"day": "2024-02-31", "done": true}]}]}"#
        ),
    ]

    @Test(arguments: mostlyAside)
    func whatIsMostlySetAsideIsAFinding(_ source: (file: String, text: String)) throws {
        try sandbox.folder.write(source.file, source.text)
        let found = try setAside(source.file)
        #expect(found.count == 1 && found[0].contains("became no record"), "\(found)")
    }

    static let values = [(7_500, true), (4, true), (-2, true), (0, false), (1, false), (3, false), (-1, false)]

    @Test(arguments: values)
    func aDatabasesRowsThatSayNothingAreNotCounted(_ value: (number: Int, isFinding: Bool)) throws {
        let rows = (2...9).map { "(2, \($0 * 86_400_000), \(value.number))" }.joined(separator: ", ")
        try sandbox.database(
            "x.db",
            """
            CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT, freq_num INTEGER, freq_den INTEGER);
            CREATE TABLE Repetitions (habit INTEGER, timestamp INTEGER, value INTEGER);
            CREATE TABLE Streak (id INTEGER); CREATE TABLE android_metadata (locale TEXT);
            INSERT INTO Habits VALUES (1, 'Read', 1, 1), (2, 'Run', 1, 1);
            INSERT INTO Repetitions VALUES (1, 86400000, 2), (2, 86400000, 2), \(rows);
            INSERT INTO Streak VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9);
            """
        )
        #expect(try setAside("x.db").isEmpty != value.isFinding)
    }

    /// Old databases have days of deleted habits; these are only an oddity unless they are most of the database.
    @Test(arguments: [(2, false), (20, true)])
    func daysOfHabitsThatAreGoneAreNoLossOfAHabit(_ days: (count: Int, isFinding: Bool)) throws {
        let rows = (2..<(2 + days.count)).map { "(9, \($0 * 86_400_000), 2)" }.joined(separator: ", ")
        try sandbox.database(
            "x.db",
            """
            CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT, freq_num INTEGER, freq_den INTEGER);
            CREATE TABLE Repetitions (habit INTEGER, timestamp INTEGER, value INTEGER);
            INSERT INTO Habits VALUES (1, 'Read', 1, 1); INSERT INTO Repetitions VALUES (1, 86400000, 2), \(rows);
            """
        )
        #expect(try setAside("x.db").isEmpty != days.isFinding)
    }

    @Test func aTableThatNobodyKnowsIsAFindingWhereItIsMostOfTheSource() throws {
        try sandbox.database(
            "x.db",
            """
            CREATE TABLE tracks (_id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE ticks (_id INTEGER PRIMARY KEY, _track_id INTEGER, year INTEGER, month INTEGER, day INTEGER);
            CREATE TABLE amounts (track INTEGER, day TEXT, amount REAL);
            INSERT INTO tracks VALUES (1, 'Run'); INSERT INTO ticks VALUES (1, 1, 2024, 1, 29);
            INSERT INTO amounts VALUES (1, '2024-01-01', 1), (1, '2024-01-02', 2), (1, '2024-01-03', 3);
            """
        )
        #expect(try setAside("x.db") == ["3 of 5 rows that say something became no record"])
    }

    @Test func whatAMappingLeavesOutIsNotCountedAndWhatItCannotReadIs() throws {
        try sandbox.folder.write(
            "x.csv",
            "what,when,state\nRun,2024-02-28,1\nRun,2024-02-29,0\nRun,2024-03-01,0\nRun,2024-03-02,0\n"
        )
        let mapping = """
            {"format": 1, "entities": [{"source": "x", "target": "Entry", "attributes": {"when": "date", "state": null},
             "relationships": {"what": "habit"}, "only": {"state": [1]}}]}
            """
        sandbox.options.mapping = try CoreDataMapping(path: try sandbox.folder.write("m.json", mapping))
        #expect(try setAside("x.csv") == [])
        try sandbox.folder.write("x.csv", "what,when,state\nRun,2024-02-28,1\nRun,yesterday,1\nRun,today,1\n")
        #expect(try setAside("x.csv") == ["2 of 3 rows that say something became no record"])
    }

    /// An import that brought habits and none of their entries was verified if there were more habits than entries.
    @Test func aMappedListThatIsMostlySetAsideIsAFinding() throws {
        try sandbox.database(
            "x",
            """
            CREATE TABLE habits (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE log (habit_id INTEGER, day TEXT);
            INSERT INTO habits VALUES (1, 'A'), (2, 'B'), (3, 'C'), (4, 'D'); INSERT INTO log VALUES (8, '2024-01-01'), (9, '2024-01-02');
            """
        )
        let mapping = """
            {"format": 1, "entities": [
              {"source": "habits", "target": "Habit", "key": "id", "attributes": {"name": "name"}},
              {"source": "log", "target": "Entry", "attributes": {"day": "date"}, "relationships": {"habit_id": "habit"}}]}
            """
        sandbox.options.mapping = try CoreDataMapping(path: try sandbox.folder.write("m.json", mapping))
        #expect(try setAside("x") == ["2 of 2 rows of log say something and became no record"])
    }

    @Test func daysOnWhichNothingWasDoneMayBeMostOfASource() throws {
        let header = "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\n"
        let rows = (1...28).map { "Push,,,2024-02-\($0 < 10 ? "0" : "")\($0),\($0 == 3 ? 1 : 0),\n" }.joined()
        try sandbox.folder.write("h.csv", header + rows)
        #expect(try setAside("h.csv") == [])
        let log = (10...28).map { "2024-02-\($0) : Gym : \($0 == 10 ? "y" : $0.isMultiple(of: 2) ? "n" : "s")\n" }
            .joined()
        try sandbox.folder.write("log", log + "# a remark\n# another one\n")
        #expect(try setAside("log") == [])
        try sandbox.folder.write(
            "b.json",
            """
            {"habits": [{"name": "Run", "records": [{"day": "2024-02-28", "done": true}, {"day": "2024-02-29", "done": false},
              {"day": "2024-03-01", "done": false}, {"day": "2024-03-02", "done": 0}]}]}
            """
        )
        #expect(try setAside("b.json") == [])
    }

    @Test func theExitCodeTellsOfItUntilItIsAllowed() throws {
        let home = URL(fileURLWithPath: sandbox.folder.path("."))
        try sandbox.folder.write("h.csv", Self.mostlyAside[0].text)
        let path = sandbox.folder.path("h.csv")
        let found = try CommandLineRun("import", path, "--into", "sqlite:\(sandbox.folder.path("a"))", home: home)
        #expect(found.status == 1)
        #expect(!found.output.contains("\nverified"), "\(found.output)")
        #expect(found.output.contains("NOT VERIFIED") && found.output.contains("unless --allow-aside is given"))
        // A dry run ends like the import, and leaves nothing.
        let dry = try CommandLineRun(
            "import",
            path,
            "--dry-run",
            "--into",
            "sqlite:\(sandbox.folder.path("c"))",
            home: home
        )
        #expect(dry.status == 1 && dry.output.contains("would be here, but most is set aside"), "\(dry.output)")
        #expect(!FileManager.default.fileExists(atPath: sandbox.folder.path("c")))
        let store = "sqlite:\(sandbox.folder.path("b"))"
        let allowed = try CommandLineRun("import", path, "--into", store, "--allow-aside", home: home)
        #expect(allowed.status == 0, "\(allowed.output)\(allowed.errors)")
        #expect(allowed.output.contains("\nverified"))
    }
}
