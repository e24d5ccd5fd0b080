import Foundation
import HabitStore
import HabitTracker
import RawStoreFiles
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// A tracker's database with a truncated log, or an export that ends in the middle of a row, ended with "verified" and exit code 0, with only a
/// remark. A
/// Core Data file with the same loss ended with 1, and so do these now.
@Suite struct SourceLossTests {
    private let sandbox: TrackerSandbox
    private var home: URL { URL(fileURLWithPath: sandbox.folder.path(".")) }

    init() throws { sandbox = try TrackerSandbox() }

    private func run(_ name: String, _ words: String...) throws -> CommandLineRun {
        let store = "sqlite:\(sandbox.folder.path(UUID().uuidString))"
        return try CommandLineRun(["import", sandbox.folder.path(name), "--into", store] + words, home: home)
    }

    /// A Tickmate database with four more ticks in its log.
    private func writeLog(_ change: (Data) -> Data) throws {
        let live = try sandbox.database(
            "live.db",
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE tracks (_id INTEGER PRIMARY KEY, name TEXT, enabled INTEGER);
            CREATE TABLE ticks (_id INTEGER PRIMARY KEY, _track_id INTEGER, year INTEGER, month INTEGER, day INTEGER);
            INSERT INTO tracks VALUES (1, 'Run', 1); INSERT INTO ticks VALUES (1, 1, 2024, 1, 28);
            """
        )
        let connection = try RawDatabase(path: live)
        defer { connection.close() }
        try connection.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA wal_checkpoint(TRUNCATE)")
        for day in 1...4 {
            try connection.execute("INSERT INTO ticks (_track_id, year, month, day) VALUES (1, 2024, 2, \(day))")
        }
        try FileManager.default.copyItem(atPath: live, toPath: sandbox.folder.path("x.db"))
        try sandbox.folder.write("x.db-wal", change(try Data(contentsOf: URL(fileURLWithPath: live + "-wal"))))
    }

    static let damages: [(kind: String, ticks: Int, change: @Sendable (Data) -> Data)] = [
        ("logDamaged", 4, { $0.dropLast(2_000) }),
        ("logDamaged", 2, { log in log.prefix(6_000) + [log[6_000] ^ 1] + log.dropFirst(6_001) }),
        ("logTruncated", 1, { $0.prefix(20) }), ("logInvalid", 1, { Data(repeating: 7, count: $0.count) }),
    ]

    @Test(arguments: damages.indices)
    func aDamagedLogEndsWithOneUntilThatLossIsAllowed(_ place: Int) throws {
        let damage = Self.damages[place]
        try writeLog(damage.change)
        let found = try run("x.db")
        #expect(found.status == 1, "\(found.output)\(found.errors)")
        #expect(found.output.contains("LOSS \(damage.kind): "), "\(found.output)")
        #expect(found.output.contains("entries  \(damage.ticks) in the source"), "\(found.output)")
        #expect(try run("x.db", "--allow-loss", damage.kind).status == 0)
        #expect(try run("x.db", "--allow-loss", "pagesUncounted").status == 1)
        #expect(try run("x.db", "--allow-loss", "nothing").status == 64)
        #expect(try run("x.db", "--dry-run").status == 1)
    }

    @Test func aWholeLogProvesNothing() throws {
        try writeLog { $0 }
        let found = try run("x.db")
        #expect(found.status == 0, "\(found.output)")
        #expect(found.output.contains("entries  5 in the source"), "\(found.output)")
    }

    @Test func aDatabaseThatAMappingReadsSaysTheSame() throws {
        try writeLog { $0.dropLast(2_000) }
        try sandbox.folder.write(
            "m.json",
            #"{"format": 1, "entities": [{"source": "tracks", "target": "Habit", "key": "_id", "attributes": {"name": "name"}}]}"#
        )
        let found = try run("x.db", "--mapping", sandbox.folder.path("m.json"))
        #expect(found.status == 1 && found.output.contains("LOSS logDamaged"), "\(found.output)\(found.errors)")
    }

    private static let bull =
        "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\nPush,,,2024-02-28,5,a\n"

    static let cuts: [(file: String, text: String, isCut: Bool)] = [
        ("h.csv", bull + "Push,,,2024-02-2", true), ("h.csv", bull + "Push,,,2024-02-29,5,b", false),
        ("h.csv", bull + "Push,,,2024-02-29,5\n", false),
        ("log", "2024-02-27 : Gym : y\n2024-02-28 : Gym : y\n2024-02-29 : Gy", true),
        ("log", "2024-02-28 : Gym : y\n2024-02-29 : Gym : y", false),
    ]

    @Test(arguments: cuts)
    func aFileThatEndsInTheMiddleOfARowProvesALoss(_ source: (file: String, text: String, isCut: Bool)) throws {
        try sandbox.folder.write(source.file, source.text)
        #expect(try sandbox.run(source.file).losses.map(\.kind) == (source.isCut ? ["fileCut"] : []))
    }

    @Test func anExportThatLacksFilesOrHabitsProvesALoss() throws {
        for (name, text) in SetAsideTests.untyped { try sandbox.folder.write("e/" + name, text) }
        try sandbox.folder.write("e/003 Gone/Checkmarks.csv", "2023-06-03,2\n")
        #expect(try sandbox.run("e").losses.map(\.kind) == ["habitMissing"])
        let other = try TrackerSandbox()
        try other.folder.write("e/Habits.csv", SetAsideTests.untyped["Habits.csv"] ?? "")
        try other.folder.write("e/001 Walk/Checkmarks.csv", "2023-06-03,7500\n2023-06-0")
        let losses = try other.run("e").losses
        #expect(losses.map(\.kind) == ["marksMissing", "fileCut"])
        #expect(losses.map(\.count) == [1, 1])
    }

    /// The report refers to the files of an export only by number, since their names are those of the habits.
    @Test func aLossDoesNotSayHowAHabitIsCalled() throws {
        try sandbox.folder.write(
            "e/Habits.csv",
            "Position,Name,NumRepetitions,Interval\n001,Secret,1,1\n002,Other,1,1\n"
        )
        try sandbox.folder.write("e/001 Secret/Checkmarks.csv", "2023-06-03,2\n2023-06")
        #expect(!(try sandbox.run("e").losses.contains { $0.message.contains("Secret") }))
    }
}
