import CSQLite
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStoreSQLite

/// SQLite does what a file's own declarations say, and nothing compared them with the store's: with `Tag.name` as `COLLATE NOCASE` a query found one
/// tag more than in the other engine and "Health" was refused next to "health"; a trigger changed each entry after it had been acknowledged; a
/// recursive view blocked every command forever. The verification reported equality, and the check a sound store. Now nothing is read through a
/// declaration that is not the store's.
@Suite("SQLite: definitions")
struct SQLiteDefinitionTests {
    private func filled() throws -> SQLiteTestStore {
        let file = try SQLiteTestStore()
        try file.make { transaction in
            try transaction.insert(Tag(id: testID(1), name: "health"))
            try transaction.insert(Habit(id: testID(2), name: "Run", tagIDs: [testID(1)]))
            try transaction.insert(
                Entry(id: testID(3), date: Date(timeIntervalSinceReferenceDate: 3), habitID: testID(2))
            )
        }
        return file
    }

    /// Statements for the stock shell, and the name of the foreign object that each one makes.
    static let foreign: [(sql: String, name: String)] = [
        ("CREATE TRIGGER t1 BEFORE INSERT ON Entry BEGIN SELECT raise(ignore); END", "t1"),
        ("CREATE TRIGGER t2 AFTER INSERT ON Entry BEGIN UPDATE Entry SET note = 'x' WHERE id = new.id; END", "t2"),
        ("CREATE VIEW v AS SELECT * FROM Entry", "v"),
        ("CREATE TABLE extra (a)", "extra"),
        ("CREATE TABLE \"extra\" (\"a\" INTEGER PRIMARY KEY NOT NULL) STRICT, WITHOUT ROWID", "extra"),
        ("CREATE VIRTUAL TABLE found USING fts5 (note)", "found"),
        ("CREATE INDEX foo ON Entry (note)", "foo"),
        ("CREATE UNIQUE INDEX Entry_by_note ON Entry (note, id)", "Entry_by_note"),
        ("CREATE INDEX Entry_by_note ON Entry (zeroblob(note), id)", "Entry_by_note"),
        ("CREATE INDEX Entry_by_note ON Entry (note DESC, id)", "Entry_by_note"),
        ("ALTER TABLE Entry ADD COLUMN extra TEXT", "Entry"),
        ("ALTER TABLE habitstore_metadata ADD COLUMN extra TEXT", "habitstore_metadata"),
        ("ALTER TABLE Tag RENAME TO Tag_real; CREATE VIEW Tag AS SELECT * FROM Tag_real", "Tag"),
        ("DROP INDEX Entry_by_date; CREATE INDEX Entry_by_date ON Entry (value, id)", "Entry_by_date"),
        (
            "DROP INDEX Entry_by_date; CREATE INDEX Entry_by_date ON Entry (date, id) WHERE note IS NULL",
            "Entry_by_date"
        ),
        ("DROP INDEX Tag_by_name; CREATE INDEX Tag_by_name ON Tag (name COLLATE NOCASE, id)", "Tag_by_name"),
        ("DROP INDEX Tag_by_name; CREATE INDEX Tag_by_name ON Draft (content)", "Tag_by_name"),
        (
            "DROP INDEX Habit_tagIDs_by_target; CREATE INDEX Habit_tagIDs_by_target ON Habit_tagIDs (owner, target)",
            "Habit_tagIDs_by_target"
        ),
    ]

    @Test(arguments: foreign)
    func whatIsNotAStoresIsRefusedByNameAndLeftAlone(_ change: (sql: String, name: String)) throws {
        let file = try filled()
        try file.shell(change.sql)
        let before = try Data(contentsOf: URL(fileURLWithPath: file.path))
        for isReadOnly in [true, false] {
            let error = try requireSQLiteWrapperError(.corrupt) { _ = try file.open(.init(isReadOnly: isReadOnly)) }
            #expect(error.isDamage && error.location.path == file.path)
            #expect(error.message.contains(" \(change.name)"), "\(error)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == before)
    }

    /// Edits to the text of a declaration, which change how the same bytes are read.
    static let rewritten: [(table: String, old: String, new: String)] = [
        ("Tag", "\"name\" TEXT NOT NULL", "\"name\" TEXT NOT NULL COLLATE NOCASE"),
        ("Habit", "\"name\" TEXT NOT NULL", "\"name\" TEXT NOT NULL COLLATE RTRIM"),
        ("Tag", "\"name\" TEXT NOT NULL", "\"name\" TEXT"),
        ("Tag", "\"name\" TEXT NOT NULL", "\"name\" TEXT NOT NULL CHECK (length(name) < 5)"),
        ("Tag", "\"name\" TEXT NOT NULL", "\"name\" TEXT NOT NULL DEFAULT 'x'"),
        ("Entry", "\"value\" REAL", "\"value\" INTEGER"),
        ("Entry", "\"note\" TEXT", "\"note\" TEXT GENERATED ALWAYS AS (habitID) VIRTUAL"),
        ("Entry", "\"note\" TEXT", "\"note\" TEXT /* a remark */"),
        ("Entry", "\"habitID\" BLOB", "\"habitID\" BLOB REFERENCES Habit(id) ON DELETE CASCADE"),
        ("Entry", "STRICT, WITHOUT ROWID", "WITHOUT ROWID"),
        ("Entry", "PRIMARY KEY NOT NULL", "PRIMARY KEY ON CONFLICT IGNORE NOT NULL"),
        ("Entry", "PRIMARY KEY NOT NULL", "PRIMARY KEY DESC NOT NULL"),
        ("Habit_tagIDs", "PRIMARY KEY (owner, target)", "PRIMARY KEY (target, owner)"),
        ("history_transaction", "timestamp REAL NOT NULL", "timestamp REAL"),
        ("habitstore_metadata", "key TEXT PRIMARY KEY", "key TEXT COLLATE NOCASE PRIMARY KEY"),
        ("habitstore_digest", "count INTEGER NOT NULL", "count INTEGER"),
    ]

    @Test(arguments: rewritten)
    func aTableThatIsDeclaredOtherwiseIsRefused(_ change: (table: String, old: String, new: String)) throws {
        let file = try filled()
        try rewrite(file, change.table, change.old, change.new)
        let error = try requireSQLiteWrapperError(.corrupt) { _ = try file.open() }
        #expect(error.isDamage && error.message.contains(" \(change.table)"), "\(error)")
    }

    private func rewrite(_ file: SQLiteTestStore, _ table: String, _ old: String, _ new: String) throws {
        func quoted(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: "''") + "'" }
        try file.shell(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, \(quoted(old)), \(quoted(new))) WHERE name = \(quoted(table))
            """
        )
        let connection = try SQLiteConnection(path: file.path, mode: .readOnly)
        defer { connection.close() }
        let text = try connection.texts("SELECT sql FROM sqlite_schema WHERE name = \(quoted(table))")
        #expect(text.first?.contains(new) == true)
    }

    /// A recursive view returns rows without end, and never finishes the step that counts them.
    @Test(.timeLimit(.minutes(5)), arguments: ["Tag", "Entry", "habitstore_metadata", "history_transaction"])
    func anEndlessViewHoldsNobody(_ name: String) throws {
        let file = try filled()
        try file.shell(
            """
            ALTER TABLE \(name) RENAME TO other;
            CREATE VIEW \(name) AS WITH RECURSIVE more AS (SELECT * FROM other UNION ALL SELECT * FROM more) SELECT * FROM more
            """
        )
        for isReadOnly in [true, false] {
            let error = try requireSQLiteWrapperError(.corrupt) { _ = try file.open(.init(isReadOnly: isReadOnly)) }
            #expect(error.message.contains(name))
        }
        try expectSQLiteWrapperError(.corrupt) { _ = try SQLiteHabitStore.outline(ofStoreAt: file.path) }
    }

    @Test func aStepWithoutEndIsEnded() throws {
        let folder = try TemporaryFolder()
        let connection = try SQLiteConnection(
            path: folder.file(),
            mode: .create,
            options: SQLiteOptions(stepLimitSeconds: 0.05)
        )
        defer { connection.close() }
        let endless =
            "WITH RECURSIVE more AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM more) SELECT count(*) FROM more"
        let error = try requireSQLiteWrapperError(.limitExceeded) { _ = try connection.int64(endless) }
        #expect(error.message.contains("habitstore check"))
        #expect(throws: HabitStoreError.self) { try connection.exec(endless) }
        #expect(try connection.int64("SELECT 7") == 7)
    }

    /// Many short steps do not count as a long one, however long they take together.
    @Test func stepsThatEndGoOn() throws {
        let folder = try TemporaryFolder()
        let connection = try SQLiteConnection(
            path: folder.file(),
            mode: .create,
            options: SQLiteOptions(stepLimitSeconds: 0.02)
        )
        defer { connection.close() }
        let begin = ContinuousClock.now
        let statement = try connection.prepare(
            "WITH RECURSIVE more AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM more) SELECT n FROM more"
        )
        while ContinuousClock.now - begin < .milliseconds(400) {
            for _ in 0..<1_000 { #expect(try statement.step()) }
        }
    }

    @Test func aTriggerThatComesMeanwhileIsSeenByTheNextTransaction() throws {
        let file = try filled()
        let store = try file.open()
        defer { file.close(store) }
        #expect(try store.all(Tag.self).count == 1)
        let raw = try SQLiteConnection(path: file.path, mode: .readWrite)
        try raw.exec("CREATE TRIGGER late AFTER INSERT ON Tag BEGIN DELETE FROM Habit; END")
        raw.close()
        for _ in 0..<2 {
            let reading = try requireSQLiteWrapperError(.corrupt) { _ = try store.all(Tag.self) }
            #expect(reading.message.contains("an extra trigger, late"))
            try expectSQLiteWrapperError(.corrupt) { try store.save(Tag(name: "home")) }
        }
        let findings = try store.check { _ in }
        #expect(findings.map(\.kind) == ["definitionDiffers"] && findings.first?.severity == .damage)
        let again = try SQLiteConnection(path: file.path, mode: .readWrite)
        try again.exec("DROP TRIGGER late")
        again.close()
        try store.save(Tag(name: "home"))
        #expect(try store.all(Habit.self).count == 1 && store.all(Tag.self).count == 2)
        #expect(try store.check { _ in } == [])
    }

    @Test func twoTablesAtOnePageAreRefused() throws {
        let file = try filled()
        try file.shell(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'Draft') WHERE name = 'Tag'
            """
        )
        let error = try requireSQLiteWrapperError(.corrupt) { _ = try file.open() }
        #expect(error.message.contains("same page"))
    }

    @Test func textInUTF16IsRefused() throws {
        let file = try SQLiteTestStore()
        let tables = try SQLiteEngine.tables(of: HabitSchema.current, path: file.path)
        let definitions = SQLiteFormat.commonTables + tables.flatMap(\.definitions)
        try file.shell(
            """
            PRAGMA encoding = 'UTF-16le'; PRAGMA journal_mode = WAL;
            PRAGMA application_id = \(SQLiteFormat.applicationID); PRAGMA user_version = 1;
            \(definitions.joined(separator: ";"))
            """
        )
        let error = try requireSQLiteWrapperError(.corrupt) { _ = try file.open() }
        #expect(error.message.contains("UTF-16"))
    }

    // MARK: Declarations of a store

    /// Statistics are SQLite's own; they change how it searches, not what it finds.
    @Test func statisticsMayBeThere() throws {
        let file = try filled()
        try file.shell("ANALYZE")
        let store = try file.open()
        defer { file.close(store) }
        #expect(try store.check { _ in } == [])
    }

    /// Earlier versions wrote names with and without quotes, and NOT NULL before the key; indexes without the copies in today's clustering indexes,
    /// and indexes that no schema declares any more.
    @Test func whatEarlierVersionsDeclaredIsAStores() throws {
        let file = try filled()
        try file.shell(
            """
            CREATE TABLE kept AS SELECT * FROM Tag; DROP TABLE Tag;
            CREATE TABLE Tag (id BLOB NOT NULL PRIMARY KEY, "name" TEXT NOT NULL) WITHOUT ROWID, STRICT;
            INSERT INTO Tag SELECT * FROM kept; DROP TABLE kept;
            DROP INDEX Entry_by_habitID_date; CREATE INDEX Entry_by_habitID_date ON Entry(habitID,date,id);
            CREATE INDEX Entry_by_note_value ON Entry (note, value, id);
            CREATE INDEX "Entry_by_value" ON "Entry" ("value", "id", "date", "note", "habitID")
            """
        )
        for isReadOnly in [true, false] {
            let store = try file.open(.init(isReadOnly: isReadOnly))
            #expect(try store.all(Tag.self).map(\.name) == ["health"])
            #expect(try store.check { _ in }.map(\.kind) == ["indexMissing"])
            store.close()
        }
    }

    @Test(arguments: ["v1", "v2", "tidy", "empty", "lived-in", "diverged-a"])
    func eachFixtureIsDeclaredAsAStoreIs(_ name: String) throws {
        let folder = try TemporaryFolder()
        let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "fixtures")
        try FileManager.default.copyItem(atPath: fixtures.path + "/\(name).sqlite", toPath: folder.file())
        _ = try SQLiteHabitStore.outline(ofStoreAt: folder.file())
        let schemas = [HabitSchemaV1.schema, HabitSchemaV2.schema, HabitSchemaV3.schema]
        let fitting = schemas.filter { schema in
            (try? SQLiteHabitStore(path: folder.file(), schema: schema, access: .readOnly).close()) != nil
        }
        #expect(fitting.count == 1)
        let store = try SQLiteHabitStore(
            path: folder.file(),
            migrationPlan: HabitMigrationPlan.self
        )
        #expect(try store.check { _ in }.allSatisfy { $0.severity == .anomaly })
        store.close()
    }

    /// A store that another process has migrated is reported as such, not as damaged.
    @Test func anotherSchemaIsNoDamage() throws {
        let file = try filled()
        let error = try requireSQLiteWrapperError(.newerVersion) {
            _ = try SQLiteHabitStore(path: file.path, schema: HabitSchemaV1.schema, access: .readWrite)
        }
        #expect(!error.isDamage)
    }
}
