import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// All other trackers' formats, from files like real ones.
struct TrackerFormatTests {
    let sandbox: TrackerSandbox

    init() throws { sandbox = try TrackerSandbox() }

    @Test func tickmatesMonthsBeginAtZeroAndItsTimesAreOnTheWallClock() throws {
        try sandbox.database(
            "anything",
            """
            CREATE TABLE tracks (_id INTEGER PRIMARY KEY, name TEXT, description TEXT, icon TEXT, enabled INTEGER,
                multiple_entries_per_day INTEGER DEFAULT 0, "order" INTEGER DEFAULT -1);
            CREATE TABLE ticks (_id INTEGER PRIMARY KEY, _track_id INTEGER, year INTEGER, month INTEGER, day INTEGER,
                hour INTEGER, minute INTEGER, second INTEGER, has_time_info INTEGER DEFAULT 0);
            CREATE TABLE groups (_id INTEGER PRIMARY KEY, name TEXT, description TEXT, "order" INTEGER);
            CREATE TABLE track2groups (_id INTEGER PRIMARY KEY, _track_id INTEGER, _group_id INTEGER);
            INSERT INTO tracks VALUES (1, 'Coffee', '', 'cup', 1, 1, 3), (2, 'Gone', 'x', 'y', 0, 0, 4);
            INSERT INTO groups VALUES (5, 'Food', '', 0), (6, 'Fun', '', 1);
            INSERT INTO track2groups VALUES (1, 1, 5), (2, 1, 6), (3, 77, 5);
            INSERT INTO ticks VALUES (1, 1, 2024, 0, 31, 23, 59, 58, 1), (2, 1, 2024, 0, 31, 8, 0, 0, 1),
                (3, 2, 2024, 1, 29, 0, 0, 0, 0), (4, 1, 2023, 1, 29, 0, 0, 0, 0), (5, 9, 2024, 0, 1, 0, 0, 0, 0),
                (6, 1, 2024, 12, 1, 0, 0, 0, 0), (7, 1, 2024, 11, 31, 7, 5, 3, 0);
            """
        )
        let report = try sandbox.run("anything")
        #expect(report.format == .tickmate)
        #expect(
            try sandbox.entries() == ["Coffee 2024-01-31", "Coffee 2024-01-31", "Coffee 2024-12-31", "Gone 2024-02-29"]
        )
        #expect(report.kept("ticks: on a day that no calendar has") == 2)
        #expect(report.kept("ticks: of a track that is not there") == 1)
        #expect(report.odd("groups of a track that is not there") == 1)
        #expect(try sandbox.habit("Coffee").category == "Food")
        #expect(try sandbox.habit("Gone").isArchived)
        // 23:59:58 in Berlin in winter.
        let late = try #require(TextDate.parse("2024-01-31T22:59:58Z"))
        #expect(try sandbox.store.all(Entry.self).contains { $0.date == late })
    }

    /// A yes-or-no habit became a measured one with entries of 0 and of -2150000000: where a day was neither, HabitBull writes the least number
    /// of 32 bits, which spreadsheets round.
    @Test(arguments: [
        "-2.15E+09", "-2147483648", "-2147483648.0", "-2.147484e9", "\"-2,15E+09\"", "-2E+09", "-2150000000",
    ])
    func aDayThatHabitBullHasNoAnswerForIsNoEntry(_ neither: String) throws {
        let sandbox = try TrackerSandbox()
        let rows = ["1", "0", neither, "0", "1"].enumerated().map { "No sugar,,Food,2021-02-0\($0 + 1),\($1),\n" }
            .joined()
        let header = "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\n"
        try sandbox.folder.write(
            "h.csv",
            header + rows + "Weight,,,2021-02-01,70.5,\nWeight,,,2021-02-02,\(neither),\n"
        )
        let report = try sandbox.run("h.csv")
        #expect(
            try sandbox.entries() == ["No sugar 2021-02-01", "No sugar 2021-02-05", "Weight 2021-02-01 70.5"]
        )
        #expect(report.kept("rows: neither done nor not done") == 2)
        #expect(report.verification?.setAside == [])
    }

    @Test func habitBullsTwoWaysOfWritingDatesAndItsDoubledBlocksAreRead() throws {
        let header = "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\r\n"
        try sandbox.folder.write(
            "a.txt",
            header
                + """
                "Run, fast","with ""love""
                and fire",Sport,2024-02-29,1,"text, with comma"\r
                "Run, fast",x,Sport,2024-02-29,1,again\r
                "Run, fast",x,Sport,2024-02-29,1,again\r
                "Run, fast",x,Sport,2024-03-01,0,\r
                Push,,Sport,2024-03-01,-2150000000,\r
                Push,,Sport,2024-03-02,1,\r
                Push,,Sport,2024-02-30,4,\r
                Push,,Sport,2024-03-04,many,\r
                Push,,Sport\r
                """
        )
        let report = try sandbox.run("a.txt")
        #expect(report.format == .habitbull)
        #expect(
            try sandbox.entries() == [
                "Push 2024-03-02 1.0", "Run, fast 2024-02-29 again",
                "Run, fast 2024-02-29 again", "Run, fast 2024-02-29 text, with comma",
            ]
        )
        #expect(report.odd("rows that are there twice") == 1)
        #expect(report.odd("rows of a habit on a day that has one already") == 2)
        #expect(report.kept("rows: neither done nor not done") == 1)
        #expect(report.kept("rows: not done") == 1)
        #expect(report.kept("rows: on a day that no calendar has") == 1)
        #expect(report.kept("rows: of a value that is no number") == 1)
        #expect(report.kept("rows: of another length than the header") == 1)
        #expect(report.entries.inSource + report.keptRows == 9)
        #expect(try sandbox.run("a.txt").entries.added == 0)
    }

    @Test(arguments: [
        ("1/2/2024,1/31/2024", ["2024-01-02", "2024-01-31"], 0),
        ("1/2/2024,31/1/2024", ["2024-01-31", "2024-02-01"], 0),
        ("1/2/2024,3/4/2024", ["2024-01-02", "2024-03-04"], 1),
    ])
    func theWholeFileTellsWhichNumberIsTheMonth(_ dates: String, _ days: [String], _ ambiguous: Int) throws {
        let rows = dates.split(separator: ",").map { "H,,,\($0),1,\n" }.joined()
        try sandbox.folder.write(
            "a",
            "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\n" + rows
        )
        let report = try sandbox.run("a")
        #expect(try sandbox.entries() == days.map { "H \($0)" })
        #expect(report.odd("dates with an ambiguous day and month, taken as month/day") == ambiguous)
    }

    @Test(arguments: [false, true])
    func beaversRecordsAreReadWithAndWithoutTheObjectAroundThem(_ isWrapped: Bool) throws {
        let habits = #"""
            {"habits": [
              {"name": "Run", "id": "ab12", "tags": ["sport", "out"], "status": "archive",
               "period": {"period_type": "W", "period_count": 2, "target_count": 3},
               "records": [{"day": "2024-02-29", "done": true, "text": "nice 🏃"}, {"day": "2024-03-01", "done": false},
                           {"day": "2024-02-29", "done": true}, {"day": "2024-02-30", "done": true}, 7, {"day": "2024-03-02"}]},
              {"name": "Read", "records": [], "star": true}, {"name": "Read", "records": [{"day": "2024-03-03", "done": true}]}
            ], "order": ["ab12"]}
            """#
        try sandbox.folder.write("x", isWrapped ? "{\"data\": \(habits)}" : habits)
        let report = try sandbox.run("x")
        #expect(report.format == .beaverhabits)
        #expect(try sandbox.entries() == ["Read 2024-03-03", "Run 2024-02-29", "Run 2024-02-29 nice 🏃"])
        #expect(report.kept("records: not done") == 1)
        #expect(report.kept("records: neither done nor not") == 1)
        #expect(report.kept("records: not an object") == 1)
        #expect(report.kept("records: on a day that no calendar has") == 1)
        #expect(report.kept("order: no place here") == 1)
        #expect(report.odd("habits with the name of another one") == 1)
        #expect(report.entries.inSource + report.keptRows == 7 + 1)
        let run = try sandbox.habit("Run")
        #expect((run.timesPerPeriod, run.periodDays, run.isArchived) == (3, 14, true))
        #expect(try sandbox.store.all(Tag.self).map(\.name).sorted() == ["out", "sport"])
        #expect(run.tagIDs.count == 2)
        #expect(try sandbox.run("x").tags == .init(inSource: 2, added: 0, known: 2))
    }

    @Test func harshsTwoFilesAreFoundByWhatIsInThem() throws {
        try sandbox.folder.write(
            "h/some habits",
            "# mine\n! Work\nStand-up: 1\nReview: 5/7 \n\n! \nNothing\nTea: 0\nOld: 14"
        )
        try sandbox.folder.write(
            "h/zz",
            """
            # log
            2024-02-29 : Stand-up : y : Good : 0
            2024-02-29 : Review : y : 3 PRs : 3.5
            2024-02-29 : Review : s : no : 0

            2024-03-01 : Review : n
            2024-03-01 : Tea : y
            2024-03-01 : Tea : y : more : 2 : and more
            2024-03-01 : Left : y : alone : many
            """
        )
        let report = try sandbox.run("h")
        #expect(report.format == .harsh)
        #expect(
            try sandbox.entries() == [
                "Left 2024-03-01 alone", "Review 2024-02-29 3.5 3 PRs", "Stand-up 2024-02-29 Good", "Tea 2024-03-01",
                "Tea 2024-03-01 2.0 more",
            ]
        )
        #expect(report.kept("log: skipped") == 1 && report.kept("log: not done") == 1)
        #expect(report.odd("habits that only the log knows, here archived") == 1)
        #expect(report.odd("amounts that are not a number") == 1)
        let review = try sandbox.habit("Review")
        #expect((review.timesPerPeriod, review.periodDays, review.category) == (5, 7, "Work"))
        #expect(try sandbox.habit("Old").periodDays == 14)
        #expect(try sandbox.habit("Old").category == nil)
        // Recognizes both entries for Tea on the same day, too.
        #expect(try sandbox.run("h").entries == .init(inSource: 5, added: 0, known: 5))
        let error = #expect(throws: HabitStoreError.self) { try sandbox.run("h/some habits") }
        #expect(error?.message.contains("no log") == true)
        sandbox.options.format = .harsh
        #expect(try sandbox.run("h/some habits").habits.known == 4)
    }

    @Test func linesMayEndAsOnWindows() throws {
        try sandbox.folder.write("h/habits", "! Body\r\nGym: 3/7\r\n")
        try sandbox.folder.write("h/log", "2024-02-29 : Gym : y : hard : 1.5\r\n2024-03-01 : Gym : n\r\n")
        try sandbox.run("h")
        #expect(try sandbox.entries() == ["Gym 2024-02-29 1.5 hard"])
    }

    @Test func tableHabitsDatabaseIsReadWithItsGroupsAndDeletedRecords() throws {
        try sandbox.database(
            "mh.db",
            """
            CREATE TABLE mh_habits (id_ INTEGER PRIMARY KEY, type_ INTEGER, create_t INTEGER, modify_t INTEGER, uuid TEXT,
                status INTEGER, name TEXT, desc TEXT, color INTEGER, daily_goal REAL, daily_goal_unit TEXT,
                daily_goal_extra REAL, freq_type INTEGER, freq_custom TEXT, start_date INTEGER, target_days INTEGER,
                sort_position REAL DEFAULT 9e999, group_id TEXT);
            CREATE TABLE mh_records (id_ INTEGER PRIMARY KEY, parent_id INTEGER, record_date INTEGER, record_type INTEGER,
                record_value REAL, create_t INTEGER, modify_t INTEGER, uuid TEXT, parent_uuid TEXT, reason TEXT,
                is_deleted INTEGER DEFAULT 0);
            CREATE TABLE mh_groups (id_ INTEGER PRIMARY KEY, uuid TEXT, name TEXT);
            INSERT INTO mh_groups VALUES (1, 'g1', 'Body');
            INSERT INTO mh_habits (id_, type_, create_t, modify_t, uuid, status, name, daily_goal, daily_goal_unit, freq_type,
                freq_custom, start_date, group_id) VALUES
                (1, 1, 1700000000, 1700000001, '3F2504E0-4F89-41D3-9A0C-0305E82C3301', 1, 'Walk', 5.5, 'km', 3, '[1,1]', 19782, 'g1'),
                (2, 1, 1700000000, 1700000001, '3F2504E0-4F89-41D3-9A0C-0305E82C3302', 3, 'Read', 1, '', 1, '[2]', 19782, NULL),
                (3, 1, 1700000000, 1700000001, 'no uuid', 2, 'Gone', 1, '', 2, '[2]', 19782, 'g9');
            INSERT INTO mh_records VALUES
                (1, 1, 19782, 1, 2.25, 0, 0, '3F2504E0-4F89-41D3-9A0C-0305E82C33F1', '3F2504E0-4F89-41D3-9A0C-0305E82C3301', 'wet', 0),
                (2, 2, 19783, 1, 1, 0, 0, 'r2', 'lost', '', 0),
                (3, 1, 19784, 2, 0, 0, 0, 'r3', '3F2504E0-4F89-41D3-9A0C-0305E82C3301', 'ill', 0),
                (4, 1, 19785, 1, 1, 0, 0, 'r4', '3F2504E0-4F89-41D3-9A0C-0305E82C3301', '', 1),
                (5, 9, 19785, 1, 1, 0, 0, 'r5', 'nobody', '', 0), (6, 3, 19785, 1, 3, 0, 0, 'r6', 'no uuid', '', 0);
            """
        )
        let report = try sandbox.run("mh.db")
        #expect(report.format == .tableHabit)
        #expect(try sandbox.entries() == ["Gone 2024-03-03 3.0", "Read 2024-03-01 1.0", "Walk 2024-02-29 2.25 wet"])
        let walk = try sandbox.habit("Walk")
        #expect((walk.target, walk.unit, walk.category) == (5.5, "km", "Body"))
        #expect(walk.id.uuidString == "3F2504E0-4F89-41D3-9A0C-0305E82C3301")
        #expect(LocalDay(containing: walk.createdAt, in: sandbox.options.timeZone)?.description == "2024-02-29")
        let read = try sandbox.habit("Read")
        #expect((read.timesPerPeriod, read.periodDays, read.isArchived) == (2, 7, true))
        #expect(report.kept("mh_records: skipped") == 1 && report.kept("mh_records: deleted") == 1)
        #expect(report.kept("mh_records: of a habit that is not there") == 1)
        #expect(report.odd("habits that were deleted in the app, here archived") == 1)
        #expect(report.odd("habits of a group that is not there") == 1)
        // JSON cannot represent infinity.
        let line = try #require(try sandbox.attachment(report).first { $0["what"] as? String == "Walk" })
        #expect((line["fields"] as? [String: Any])?["sort_position"] as? String == "inf")
    }

    @Test func tableHabitsExportIsReadThoughItHasNoIdentifiers() throws {
        try sandbox.folder.write(
            "mh.json",
            #"""
            {"habits": [{"create_t": 1700000000, "name": "Walk", "status": 1, "daily_goal": 2, "daily_goal_unit": "km",
              "freq_type": 3, "freq_custom": "[1,1]", "start_date": 19782, "type": 1, "records": [
                {"record_date": 19782, "record_type": 1, "record_value": 2.5, "create_t": 1, "reason": "nice"},
                {"record_date": 19783, "record_type": 2, "record_value": 0}]}]}
            """#
        )
        let report = try sandbox.run("mh.json")
        #expect(report.format == .tableHabitJSON)
        #expect(try sandbox.entries() == ["Walk 2024-02-29 2.5 nice"])
        #expect(report.kept("records: skipped") == 1)
        #expect(try sandbox.run("mh.json").entries == .init(inSource: 1, added: 0, known: 1))
    }

    @Test func whatIsNoTrackersFileIsRefusedAndSaysWhatItIs() throws {
        let texts = [
            "": "empty", "{\"a\": 1}": "JSON of no app", "[]": "JSON of no app", "{": "damaged JSON",
            "a,b\n1,2\n": "no format",
            "PK\u{3}\u{4}": "zip", "SQLite format 3\0": "shorter",
        ]
        for (text, words) in texts {
            try sandbox.folder.write("x", text)
            let error = #expect(throws: HabitStoreError.self, "\(text)") { try sandbox.run("x") }
            #expect(error?.description.contains(words) == true, "\(text): \(String(describing: error))")
        }
        try sandbox.folder.write("x", Data([0xFF, 0xFE, 0x00, 0x61]))
        #expect(throws: HabitStoreError.self) { try sandbox.run("x") }
        try sandbox.folder.write("x", String(repeating: "[", count: 100_000))
        #expect(throws: HabitStoreError.self) { try sandbox.run("x") }
        try sandbox.folder.write("folder/x", "nothing")
        #expect(throws: HabitStoreError.self) { try sandbox.run("folder") }
        try sandbox.database("other.db", "CREATE TABLE t (a)")
        #expect(throws: HabitStoreError.self) { try sandbox.run("other.db") }
        sandbox.options.format = .tickmate
        try sandbox.folder.write("b", #"{"habits": [{"name": "Run", "records": []}]}"#)
        let error = #expect(throws: HabitStoreError.self) { try sandbox.run("b") }
        #expect(error?.message.contains("Beaver") == true)
        #expect(try sandbox.store.currentToken() == .zero)
    }
}
