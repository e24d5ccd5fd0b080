import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Loop's database, in the versions of its schema and with the damage that its own migrations clean up.
struct LoopDatabaseTests {
    static let day = 86_400_000
    /// 2024-02-29.
    static let first = 19_782 * day

    /// The schema of version 9: no reminder days, no types, no values.
    static let oldest = """
        CREATE TABLE Habits (Id INTEGER PRIMARY KEY AUTOINCREMENT, archived INTEGER, color INTEGER, description TEXT,
            freq_den INTEGER, freq_num INTEGER, highlight INTEGER, name TEXT, position INTEGER, reminder_hour INTEGER,
            reminder_min INTEGER);
        CREATE TABLE Repetitions (Id INTEGER PRIMARY KEY AUTOINCREMENT, habit INTEGER, timestamp INTEGER);
        CREATE TABLE Score (Id INTEGER PRIMARY KEY, habit INTEGER, score INTEGER, timestamp INTEGER);
        PRAGMA user_version = 9;
        """

    /// The steps that add columns, like the app's migrations.
    static let steps: [(version: Int, sql: String)] = [
        (11, "ALTER TABLE Habits ADD COLUMN reminder_days INTEGER NOT NULL DEFAULT 127;"),
        (
            16,
            """
            ALTER TABLE Habits ADD COLUMN type INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE Repetitions ADD COLUMN value INTEGER NOT NULL DEFAULT 2;
            """
        ),
        (
            18,
            """
            ALTER TABLE Habits ADD COLUMN target_type INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE Habits ADD COLUMN target_value REAL NOT NULL DEFAULT 0;
            ALTER TABLE Habits ADD COLUMN unit TEXT NOT NULL DEFAULT '';
            """
        ),
        (20, "DROP TABLE Score;"),
        (23, "ALTER TABLE Habits ADD COLUMN question TEXT;"),
        (24, "ALTER TABLE Habits ADD COLUMN uuid TEXT; UPDATE Habits SET uuid = lower(hex(randomblob(16) || id));"),
        (25, "ALTER TABLE Repetitions ADD COLUMN notes TEXT;"),
    ]

    private func schema(_ version: Int) -> String {
        Self.oldest + Self.steps.filter { $0.version <= version }.map(\.sql).joined()
            + "PRAGMA user_version = \(version);"
    }

    @Test(arguments: [9, 11, 12, 16, 18, 20, 22, 24, 25, 26])
    func everyVersionOfTheSchemaIsRead(_ version: Int) throws {
        let sandbox = try TrackerSandbox()
        try sandbox.database(
            "loop.db",
            """
            \(schema(version))
            INSERT INTO Habits (Id, archived, freq_num, freq_den, name, color) VALUES (0, 0, 3, 7, 'Rün', -1),
                (15, 1, 1, 1, 'Read', 5);
            INSERT INTO Repetitions (habit, timestamp) VALUES (0, \(Self.first)), (0, \(Self.first + Self.day)),
                (15, \(Self.first));
            """
        )
        let report = try sandbox.run("loop.db")
        #expect(report.format == .loop)
        #expect(report.entries == .init(inSource: 3, added: 3))
        #expect(try sandbox.entries() == ["Read 2024-02-29", "Rün 2024-02-29", "Rün 2024-03-01"])
        let run = try sandbox.habit("Rün")
        #expect((run.timesPerPeriod, run.periodDays, run.isArchived) == (3, 7, false))
        #expect(try sandbox.habit("Read").isArchived)
        #expect(report.kept("habit.color") == 2)
        let entry = try #require(try sandbox.store.all(Entry.self).first)
        #expect(entry.note == nil && entry.value == nil)
    }

    @Test func valuesNotesAndMeasuredHabitsOfTheLatestVersionArriveAndTheRestIsKept() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.database(
            "loop.db",
            """
            \(schema(25))
            INSERT INTO Habits (Id, archived, freq_num, freq_den, name, type, unit, target_value, uuid, question)
                VALUES (1, 0, 1, 1, 'Read', 0, '', 0, '00112233445566778899aabbccddeeff31', 'Did you?'),
                    (2, 0, 1, 30, 'Walk', 1, 'km', 12.5, '3F2504E0-4F89-41D3-9A0C-0305E82C3301', NULL);
            INSERT INTO Repetitions (habit, timestamp, value, notes) VALUES
                (1, \(Self.first), 2, 'nice "one"'), (1, \(Self.first + Self.day), 3, 'ill'),
                (1, \(Self.first + 2 * Self.day), 0, NULL), (1, \(Self.first + 3 * Self.day), 1, NULL),
                (1, \(Self.first + 4 * Self.day), -1, NULL), (1, \(Self.first + 5 * Self.day), 77, NULL),
                (2, \(Self.first), 1500, NULL), (2, \(Self.first + Self.day), 0, NULL), (2, \(Self.first + 2 * Self.day), 3, '');
            """
        )
        let report = try sandbox.run("loop.db")
        #expect(
            try sandbox.entries() == ["Read 2024-02-29 nice \"one\"", "Walk 2024-02-29 1.5", "Walk 2024-03-01 0.0"]
        )
        let reasons = [
            "skipped": 2, "not done": 1, "filled in by the app": 1, "unknown": 1, "of a value that is not known": 1,
        ]
        for (reason, count) in reasons { #expect(report.kept("Repetitions: \(reason)") == count, "\(reason)") }
        #expect(report.entries.inSource + report.keptRows - report.kept("sqlite_sequence: no place here") == 9)
        #expect(report.rows.first { $0.name == "Repetitions" }?.count == 9)
        let walk = try sandbox.habit("Walk")
        #expect((walk.unit, walk.target, walk.periodDays) == ("km", 12.5, 30))
        #expect(walk.id.uuidString == "3F2504E0-4F89-41D3-9A0C-0305E82C3301")
        let skipped = try #require(
            try sandbox.attachment(report).first { $0["what"] as? String == "Repetitions: skipped" }
        )
        #expect((skipped["fields"] as? [String: Any])?["notes"] as? String == "ill")
    }

    /// Before its version 22 the app allowed what a foreign key and a unique index refuse since then; its migration deletes these rows.
    @Test func damageThatTheAppsOwnMigrationDeletesIsCarriedOrNamed() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.database(
            "loop.db",
            """
            \(schema(21))
            INSERT INTO Habits (Id, freq_num, freq_den, name) VALUES (0, 1, 1, 'Run'), (1, NULL, 0, NULL);
            INSERT INTO Repetitions (habit, timestamp) VALUES (0, \(Self.first)), (0, \(Self.first)), (0, \(Self.first)),
                (99, \(Self.first)), (NULL, \(Self.first)), (0, NULL), (0, \(Self.first + 3_600_000)),
                (0, 9223372036854775807), (0, -\(Self.day)), (0, -1);
            """
        )
        let report = try sandbox.run("loop.db")
        #expect(
            try sandbox.entries() == [
                "Run 1969-12-31", "Run 1969-12-31", "Run 2024-02-29", "Run 2024-02-29", "Run 2024-02-29",
                "Run 2024-02-29",
            ]
        )
        #expect(report.kept("Repetitions: of a habit that is not there") == 1)
        #expect(report.kept("Repetitions: of no habit") == 1)
        #expect(report.kept("Repetitions: without a day") == 1)
        #expect(report.kept("Repetitions: on a day that no calendar has") == 1)
        #expect(report.odd("repetitions of a habit on a day that has one already") == 4)
        #expect(report.odd("repetitions whose time is not a midnight in UTC") == 2)
        #expect(report.odd("habits without a frequency that could be read, taken for daily") == 1)
        #expect(report.entries.inSource + report.keptRows - report.kept("sqlite_sequence: no place here") == 10)
        let again = try sandbox.run("loop.db")
        #expect(again.entries == .init(inSource: 6, added: 0, known: 6))
    }

    @Test func columnsThatHoldOtherTypesThanDeclaredAreReadOrNamed() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.database(
            "loop.db",
            """
            \(schema(25))
            INSERT INTO Habits (Id, freq_num, freq_den, name, type) VALUES (1, 1, 1, 42, 0), (2, 'x', 7, x'41ff', 1);
            INSERT INTO Repetitions (habit, timestamp, value, notes) VALUES (1, \(Self.first).0, 2, 7),
                (1, 'yesterday', 2, NULL), (1, \(Self.first + Self.day), 'yes', NULL), (1, 1.5, 2, NULL),
                (2, \(Self.first), 'much', NULL), (2, \(Self.first), 1500.5, NULL), (1, 253402300800000, 2, NULL);
            """
        )
        let report = try sandbox.run("loop.db")
        #expect(try sandbox.entries() == ["42 2024-02-29 7", "A\u{FFFD} 2024-02-29 1.5005"])
        #expect(report.kept("Repetitions: without a day") == 2)
        #expect(report.kept("Repetitions: without a value") == 2)
        #expect(report.kept("Repetitions: on a day that no calendar has") == 1)
    }

    @Test func aSecondImportAddsOnlyWhatIsNewAndLeavesWhatWasEditedHere() throws {
        let sandbox = try TrackerSandbox()
        let sql = """
            \(schema(25))
            INSERT INTO Habits (Id, freq_num, freq_den, name, uuid) VALUES (1, 1, 1, 'Run', 'a');
            INSERT INTO Repetitions (habit, timestamp) VALUES (1, \(Self.first)), (1, \(Self.first + Self.day));
            """
        try sandbox.database("loop.db", sql)
        try sandbox.run("loop.db")
        let token = try sandbox.store.currentToken()
        try sandbox.run("loop.db")
        #expect(try sandbox.store.currentToken() == token)
        try sandbox.database(
            "loop.db",
            sql + "INSERT INTO Repetitions (habit, timestamp) VALUES (1, \(Self.first + 2 * Self.day));"
        )
        #expect(try sandbox.run("loop.db").entries == .init(inSource: 3, added: 1, known: 2))
        #expect(try sandbox.habit("Run").streak == 3)
        func rehearsed() throws -> TrackerReport {
            try TrackerImport(path: sandbox.folder.path("loop.db"), sandbox.options).rehearse(into: sandbox.store)
        }
        #expect(try rehearsed().verification?.isEqual == true)
        var entry = try #require(try sandbox.store.all(Entry.self).first)
        entry.value = 7
        try sandbox.store.save(entry)
        #expect(try rehearsed().verification?.isEqual == false)
        #expect(try sandbox.store.all(Entry.self).count == 3)
        let work = try TrackerImport(path: sandbox.folder.path("loop.db"), sandbox.options)
        let edited = try work.run(into: sandbox.store, attachmentsIn: sandbox.folder.path("imports"))
        #expect(edited.entries == .init(inSource: 3, added: 0, known: 2, differing: 1))
        #expect(edited.verification?.isEqual == false)
        #expect(try sandbox.store.model(Entry.self, id: entry.id)?.value == 7)
        sandbox.options.updates = true
        try sandbox.run("loop.db")
        #expect(try sandbox.store.model(Entry.self, id: entry.id)?.value == nil)
    }

    @Test func anotherPhonesNumbersAreNotTakenForTheSameHabits() throws {
        let sandbox = try TrackerSandbox()
        func phone(_ file: String, _ name: String) throws {
            try sandbox.database(
                file,
                """
                \(schema(20))
                INSERT INTO Habits (Id, freq_num, freq_den, name) VALUES (1, 1, 1, '\(name)');
                INSERT INTO Repetitions (habit, timestamp) VALUES (1, \(Self.first));
                """
            )
        }
        try phone("mine.db", "Run")
        try phone("yours.db", "Read")
        try sandbox.run("mine.db")
        let error = #expect(throws: HabitStoreError.self) { try sandbox.run("yours.db") }
        #expect(error?.code == .uniqueViolation)
        #expect(try sandbox.entries() == ["Run 2024-02-29"])
        sandbox.options.name = "yours"
        try sandbox.run("yours.db")
        #expect(try sandbox.entries() == ["Read 2024-02-29", "Run 2024-02-29"])
        sandbox.options.name = ""
        sandbox.options.allowsRenames = true
        #expect(
            try TrackerImport(path: sandbox.folder.path("yours.db"), sandbox.options)
                .rehearse(into: sandbox.store).habits.differing == 1
        )
    }

    @Test(arguments: ["Pacific/Apia", "America/Los_Angeles", "Europe/Berlin", "Pacific/Kiritimati", "Asia/Kolkata"])
    func aDayIsThatDayInEveryTimeZoneAndIsNotImportedAgainInAnother(_ zone: String) throws {
        let sandbox = try TrackerSandbox(timeZone: zone)
        // Across the changes to and from summer time of 2024, and a leap day.
        let days = (0..<400).map { "(1, \(Self.first + $0 * Self.day))" }.joined(separator: ",")
        try sandbox.database(
            "loop.db",
            """
            \(schema(20))
            INSERT INTO Habits (Id, freq_num, freq_den, name) VALUES (1, 1, 1, 'Run');
            INSERT INTO Repetitions (habit, timestamp) VALUES \(days);
            """
        )
        #expect(try sandbox.run("loop.db").entries.added == 400)
        #expect(try sandbox.habit("Run").streak == 400)
        sandbox.options.timeZone = try #require(TimeZone(identifier: "UTC"))
        let again = try TrackerImport(path: sandbox.folder.path("loop.db"), sandbox.options)
            .rehearse(into: sandbox.store)
        #expect(again.entries == .init(inSource: 400, added: 0, known: 400))
    }

    @Test func whatIsStillInTheLogIsRead() throws {
        let sandbox = try TrackerSandbox()
        let path = sandbox.folder.path("loop.db")
        try sandbox.database(
            "made.db",
            """
            PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
            \(schema(20))
            INSERT INTO Habits (Id, freq_num, freq_den, name) VALUES (1, 1, 1, 'Run');
            INSERT INTO Repetitions (habit, timestamp) VALUES (1, \(Self.first));
            """
        )
        // Copies both files while they are in use, like a phone's backup.
        var connection: OpaquePointer?
        try sandbox.withOpen("made.db", &connection) {
            for suffix in ["", "-wal"]
            where FileManager.default.fileExists(atPath: sandbox.folder.path("made.db") + suffix) {
                try? FileManager.default.removeItem(atPath: path + suffix)
                try FileManager.default.copyItem(atPath: sandbox.folder.path("made.db") + suffix, toPath: path + suffix)
            }
        }
        #expect(try sandbox.run("loop.db").entries.added == 2)
    }
}
