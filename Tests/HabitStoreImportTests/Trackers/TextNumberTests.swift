import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// A converter had written Loop's database with text in all columns, which SQLite and the app read as numbers. The import reported the habits as
/// "without
/// an id", and imported none of them.
@Suite struct TextNumberTests {
    private let sandbox: TrackerSandbox

    init() throws { sandbox = try TrackerSandbox() }

    @Test func aNumberThatIsKeptAsTextIsThatNumber() {
        let numbers: [(String, SourceValue)] = [
            ("12", .int(12)), (" 12\n", .int(12)), ("-7", .int(-7)), ("+7", .int(7)), ("007", .int(7)),
            ("1.5", .real(1.5)),
            ("1e3", .real(1_000)), (".5", .real(0.5)), ("9223372036854775808", .real(9_223_372_036_854_775_808)),
        ]
        for (text, number) in numbers { #expect(SourceValue.text(text).numeric == number, "\(text)") }
        for text in ["", " ", "12abc", "0x10", "inf", "nan", "1,5", "1 2", "--1", "e5", "1e999", "\u{A0}1"] {
            #expect(SourceValue.text(text).numeric == .text(text), "\(text)")
        }
    }

    @Test func loopsDatabaseOfTextsIsReadAsTheAppReadsIt() throws {
        try sandbox.database(
            "x.db",
            """
            CREATE TABLE Habits (Id TEXT, archived TEXT, color TEXT, freq_den TEXT, freq_num TEXT, name TEXT, type TEXT,
              target_value TEXT, unit TEXT);
            CREATE TABLE Repetitions (id TEXT, habit TEXT, timestamp TEXT, value TEXT);
            INSERT INTO Habits VALUES ('1', '0', '5', '1', '3', 'Read', '0', '0', ''), ('2', '1', '5', '1', '1', 'Run', '1', '7.5', 'km'),
              ('x', '0', '5', '1', '1', 'Nobody', '0', '0', '');
            INSERT INTO Repetitions VALUES ('1', '1', '1735689600000', '2'), ('2', '01', '1735776000000.0', ' 2'),
              ('3', '2', '1735776000000', '2500'), ('4', '2', '1735862400000', '3'), ('5', '1', 'today', '2'), ('6', 'x', '1735689600000', '2');
            """
        )
        let rehearsed = try TrackerImport(path: sandbox.folder.path("x.db"), sandbox.options).rehearse(
            into: sandbox.store
        )
        #expect(rehearsed.entries.added == 3 && rehearsed.verification?.isEqual == true)
        let report = try sandbox.run("x.db")
        #expect(try sandbox.entries() == ["Read 2025-01-01", "Read 2025-01-02", "Run 2025-01-02 2.5"])
        let run = try sandbox.habit("Run")
        #expect((run.isArchived, run.target, run.unit) == (true, 7.5, "km"))
        #expect(report.odd("numbers that are kept as texts") == 33)
        #expect(report.kept("Habits: without an id") == 1)
        #expect(report.kept("Repetitions: without a day") == 1)
    }

    @Test func tickmatesDatabaseOfTextsIsRead() throws {
        try sandbox.database(
            "x.db",
            """
            CREATE TABLE tracks (_id TEXT, name TEXT, enabled TEXT);
            CREATE TABLE ticks (_id TEXT, _track_id TEXT, year TEXT, month TEXT, day TEXT);
            INSERT INTO tracks VALUES ('1', 'Run', '0');
            INSERT INTO ticks VALUES ('1', '1', '2024', '1', '29'), ('2', '1', '2024', '1', '30'), ('3', '1', '2024', '2', '1');
            """
        )
        let report = try sandbox.run("x.db")
        #expect(try sandbox.entries() == ["Run 2024-02-29", "Run 2024-03-01"])
        #expect(try sandbox.habit("Run").isArchived)
        #expect(report.kept("ticks: on a day that no calendar has") == 1)
    }

    @Test func tableHabitsDatabaseOfTextsIsRead() throws {
        try sandbox.database(
            "x.db",
            """
            CREATE TABLE mh_habits (id_ TEXT, uuid TEXT, name TEXT, status TEXT, freq_type TEXT, freq_custom TEXT, daily_goal TEXT,
              start_date TEXT, create_t TEXT);
            CREATE TABLE mh_records (id_ TEXT, uuid TEXT, parent_id TEXT, parent_uuid TEXT, record_date TEXT, record_type TEXT,
              record_value TEXT, reason TEXT, is_deleted TEXT, create_t TEXT);
            INSERT INTO mh_habits VALUES ('1', 'a', 'Water', '3', '3', '[1,1]', '8', '19000', '1760000000');
            INSERT INTO mh_records VALUES ('1', 'r', '1', NULL, '19782', '1', '5.5', 'x', '0', '1760000000'),
              ('2', 's', '1', 'a', '19783', '1', 'much', '', '0', '1760000000'), ('3', 't', '1', 'a', '19784', '2', '1', '', '0', '1'),
              ('4', 'u', '1', 'a', '19785', '1', '1', '', '1', '1');
            """
        )
        let report = try sandbox.run("x.db")
        #expect(try sandbox.entries() == ["Water 2024-02-29 5.5 x", "Water 2024-03-01"])
        let water = try sandbox.habit("Water")
        #expect((water.isArchived, water.target) == (true, 8))
        #expect((report.kept("mh_records: skipped"), report.kept("mh_records: deleted")) == (1, 1))
        #expect(report.kept("entry.record_value") == 1)
        #expect(report.odd("numbers that are kept as texts") > 0)
    }
}
