import Foundation
import HabitStore
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// One virtual table whose module or tokenizer came from the app made a whole file unreadable: "asking the database failed (SQLite code 1)", without
/// a
/// name. Found in an iPhone's address book. Such a table is now skipped and named; an index whose collation only the app has does not keep a table
/// from
/// being read.
@Suite struct AppOnlyTablesTests {
    static let virtual = [
        ("USING app_module(text)", "no such module: app_module"),
        ("USING VirtualSpatialIndex()", "no such module: VirtualSpatialIndex"),
        ("USING fts4(text, tokenize=app_icu_tokenizer)", "unknown tokenizer: app_icu_tokenizer"),
        ("USING fts5(text, tokenize='app_words')", "no such tokenizer: app_words"),
        // The module exists, but its shadow tables do not.
        ("USING fts5(text)", "vtable constructor failed: search"),
    ]

    /// Adds a table to the schema that SQLite could not create without the app's modules.
    static func adding(_ module: String) -> String {
        let sql = "CREATE VIRTUAL TABLE search \(module)".replacingOccurrences(of: "'", with: "''")
        return "PRAGMA writable_schema = ON; INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) "
            + "VALUES ('table', 'search', 'search', 0, '\(sql)'); PRAGMA writable_schema = OFF"
    }

    /// Replaces a name of SQLite's with one that only the app has.
    static func exchanging(_ own: String, _ apps: String) -> String {
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, '\(own)', '\(apps)'); "
            + "PRAGMA writable_schema = OFF"
    }

    private func library(_ sql: String...) throws -> CoreDataFixture {
        let fixture = try CoreDataFixture.library(history: false)
        for sql in sql { try fixture.sql(sql) }
        fixture.close()
        return fixture
    }

    private func imported(_ fixture: CoreDataFixture) throws -> (run: CommandLineRun, verify: CommandLineRun) {
        let store = fixture.folder.appendingPathComponent("store.sqlite").path
        let run = try CommandLineRun(
            "import",
            "coredata",
            fixture.path,
            "--into",
            "sqlite:\(store)",
            home: fixture.folder
        )
        return (run, try CommandLineRun("verify", fixture.path, store, home: fixture.folder))
    }

    @Test(arguments: virtual)
    func aVirtualTableThatNeedsItsAppIsLeftAloneAndNamed(_ module: String, _ reason: String) throws {
        let fixture = try library(Self.adding(module))
        let inspected = try CommandLineRun("inspect", fixture.path, home: fixture.folder)
        #expect(inspected.status == 0, "\(inspected.errors)")
        #expect(inspected.output.contains("the virtual table search (\(reason))"), "\(inspected.output)")
        let (run, verify) = try imported(fixture)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(run.output.contains("the virtual table search (\(reason))"), "\(run.output)")
        #expect(verify.status == 0, "\(verify.output)\(verify.errors)")
    }

    @Test func whatAVirtualTableKeepsInOtherTablesStillProvesALoss() throws {
        let fixture = try library(
            "CREATE TABLE search_content (docid INTEGER PRIMARY KEY, c0text TEXT); INSERT INTO search_content VALUES (1, 'x')",
            Self.adding("USING fts4(text, tokenize=app_icu_tokenizer)")
        )
        let run = try imported(fixture).run
        #expect(run.status == 1)
        #expect(
            run.output.contains("LOSS tableNotRead: the table search_content is not read (1 rows)"),
            "\(run.output)"
        )
    }

    @Test func anOrdinaryTableThatNeedsItsAppProvesALoss() throws {
        let fixture = try library(
            "CREATE TABLE other (n TEXT, g TEXT AS (lower(n))); INSERT INTO other VALUES ('a')",
            Self.exchanging("lower(", "app_lower(")
        )
        let (run, verify) = try imported(fixture)
        #expect(run.status == 1)
        #expect(
            run.output.contains("LOSS tableUnreadable: the table other (unknown function: app_lower())"),
            "\(run.output)"
        )
        #expect(verify.status == 1)
    }

    @Test func aTableOfRecordsThatNeedsItsAppRefusesTheFileByName() throws {
        let fixture = try library(
            "ALTER TABLE ZTAG ADD COLUMN ZLOW VARCHAR AS (lower(ZNAME))",
            Self.exchanging("lower(", "app_lower(")
        )
        let run = try imported(fixture).run
        #expect(run.status == 65)
        #expect(run.errors.contains("the table ZTAG (unknown function: app_lower()) cannot be read"), "\(run.errors)")
    }

    static let indexes = [
        ("CREATE INDEX i ON ZTAG (ZNAME COLLATE NOCASE)", "NOCASE", "LOCALIZED"),
        ("CREATE UNIQUE INDEX i ON ZTAG (Z_ENT, Z_PK, ZNAME COLLATE NOCASE)", "NOCASE", "LOCALIZED"),
        (
            "CREATE INDEX i ON ZTAG (lower(ZNAME)); CREATE INDEX p ON ZTAG (ZNAME) WHERE lower(ZNAME) > ''", "lower(",
            "app_lower("
        ),
        ("CREATE TABLE t (n TEXT COLLATE NOCASE UNIQUE CHECK (lower(n) > ''))", "lower(", "app_lower("),
    ]

    /// Counting rows uses the smallest index, and failed because its collation was missing.
    @Test(arguments: indexes)
    func anIndexThatNeedsItsAppKeepsNothingFromBeingRead(_ index: String, _ own: String, _ apps: String) throws {
        let fixture = try library(index, Self.exchanging(own, apps))
        let (run, verify) = try imported(fixture)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(run.output.contains("imported 8 records"), "\(run.output)")
        #expect(verify.status == 0, "\(verify.output)\(verify.errors)")
    }

    @Test func theOtherTablesAreStillCheckedBesideAnIndexThatNeedsItsApp() throws {
        let fixture = try library(
            "CREATE INDEX i ON ZTAG (ZNAME COLLATE NOCASE); CREATE INDEX j ON ZPAGE (ZNUMBER)",
            Self.exchanging("NOCASE", "LOCALIZED")
        )
        #expect(
            try CoreDataFile(path: fixture.path).oddities.contains {
                $0.message.contains("the pages of ZTAG could not")
            }
        )
        let source = try CoreDataFile(path: fixture.path)
        let page = try #require(try source.connection.int("SELECT rootpage FROM sqlite_master WHERE name = 'ZPAGE'"))
        let size = try #require(try source.connection.int("PRAGMA page_size"))
        source.close()
        // More cells than a page can contain.
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: fixture.path))
        try file.seek(toOffset: UInt64((page - 1) * size + 3))
        try file.write(contentsOf: Data([0xFF, 0xFF]))
        try file.close()
        let error = #expect(throws: HabitStoreError.self) { try CoreDataFile(path: fixture.path) }
        #expect(error?.code == .corrupt)
    }

    @Test(arguments: virtual)
    func aTrackersDatabaseIsReadBesideAVirtualTableThatNeedsItsApp(_ module: String, _ reason: String) throws {
        let sandbox = try TrackerSandbox()
        try sandbox.database(
            "x.db",
            """
            CREATE TABLE tracks (_id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE, enabled INTEGER);
            CREATE TABLE ticks (_id INTEGER PRIMARY KEY, _track_id INTEGER, year INTEGER, month INTEGER, day INTEGER);
            INSERT INTO tracks VALUES (1, 'Run', 1); INSERT INTO ticks VALUES (1, 1, 2024, 1, 29);
            \(Self.exchanging("NOCASE", "LOCALIZED")); \(Self.adding(module))
            """
        )
        let report = try sandbox.run("x.db")
        #expect(try sandbox.entries() == ["Run 2024-02-29"])
        #expect(report.oddities.contains { $0.name.contains("the virtual table search (\(reason))") })
        let tables = try SourceTables(path: sandbox.folder.path("x.db"))
        #expect(tables.tables.map(\.name) == ["ticks", "tracks"])
    }
}
