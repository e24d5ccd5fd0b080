import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreSQLite

@Suite("SQLite: the file format")
struct SQLiteFormatTests {
    private static let python = "/usr/bin/python3"

    /// Runs a program that prints the file's contents, using Python's SQLite.
    private func runPython(_ program: String, _ path: String) throws -> [String] {
        let run = try ChildProcess.run(Self.python, ["-c", program, path])
        try #require(run.isSuccess, "\(run)")
        return run.output.split(separator: "\n").map(String.init)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: python)))
    func anotherSQLiteReadsThePlainTables() throws {
        let file = try SQLiteTestStore()
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000.123456789)
        try file.make { transaction in
            try transaction.insert(Tag(id: testID(9), name: "caf\u{e9}"))
            try transaction.insert(
                Habit(id: testID(1), name: "Run", createdAt: date, streak: 7, isArchived: true, tagIDs: [testID(9)])
            )
            try transaction.insert(Entry(id: testID(2), date: date, value: 0.1, habitID: testID(1)))
            try transaction.insert(
                Draft(id: testID(3), content: "a\0b", creationDate: date, attachments: ["x\"y", "\u{1}\\", "ü"])
            )
        }
        let program = """
            import sqlite3, sys
            c = sqlite3.connect(sys.argv[1])
            print(c.execute("PRAGMA integrity_check").fetchone()[0])
            print(hex(c.execute("PRAGMA application_id").fetchone()[0]), c.execute("PRAGMA user_version").fetchone()[0])
            print(c.execute("SELECT h.name, h.streak, h.isArchived, h.category, e.value, e.date "
                "FROM Habit h JOIN Entry e ON e.habitID = h.id").fetchall())
            print(c.execute("SELECT t.name, l.owner FROM Habit_tagIDs l JOIN Tag t ON t.id = l.target").fetchall())
            print(c.execute("SELECT content, attachments, json_extract(attachments, '$[1]') FROM Draft").fetchall())
            print(c.execute("SELECT token, sequence, entity, kind FROM history_change WHERE id = ?",
                (bytes(15) + b"\\x01",)).fetchall())
            print(c.execute("SELECT value FROM habitstore_metadata WHERE key = 'textForm'").fetchall())
            """
        let lines = try runPython(program, file.path)
        #expect(lines[0] == "ok")
        #expect(lines[1] == "0x48625374 1")
        #expect(lines[2] == "[('Run', 7, 1, None, 0.1, 700000000.1234568)]")
        let owner = #"b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01'"#
        #expect(lines[3] == "[('caf\u{e9}', \(owner))]")
        #expect(lines[4] == #"[('a\x00b', '["x\\"y","\\u0001\\\\","ü"]', '\x01\\')]"#)
        // The tag was the first change.
        #expect(lines[5] == "[(1, 2, 'Habit', 'insert')]")
        #expect(lines[6] == "[('nfc',)]")
        let store = try file.open()
        #expect(try store.check { _ in } == [])
        file.close(store)
    }

    @Test func theTablesAreStrictAndNamedAsTheSchemaSays() throws {
        let file = try SQLiteTestStore()
        try file.make()
        let connection = try SQLiteConnection(path: file.path, mode: .readOnly)
        defer { connection.close() }
        let strict = try connection.texts(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict = 1 ORDER BY name"
        )
        #expect(
            strict == [
                "Draft", "Entry", "Habit", "Habit_tagIDs", "Tag", "habitstore_digest", "habitstore_metadata",
                "history_change", "history_transaction",
            ]
        )
        let indexes = try connection.texts(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
        )
        #expect(
            indexes == [
                "Draft_by_creationDate", "Entry_by_date", "Entry_by_habitID_date", "Habit_by_category",
                "Habit_by_createdAt", "Habit_by_name", "Habit_tagIDs_by_target", "Tag_by_name",
            ]
        )
    }

    @Test func aNewerFormatIsRefusedWithBothVersionsAndLeftAlone() throws {
        let file = try SQLiteTestStore()
        try file.make()
        try file.sql("PRAGMA user_version = 2")
        let before = try Data(contentsOf: URL(fileURLWithPath: file.path))
        let error = try requireSQLiteWrapperError(.newerVersion) { _ = try file.open() }
        #expect(error.message.contains("version 2") && error.message.contains("up to 1"))
        #expect(error.location.path == file.path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == before)
    }

    @Test(arguments: [0, 1, 0x4862_5375])
    func aDatabaseOfAnotherProgramIsRefusedAndLeftAlone(_ application: Int) throws {
        let file = try SQLiteTestStore()
        let connection = try SQLiteConnection(path: file.path, mode: .create)
        try connection.exec("CREATE TABLE t (a); PRAGMA application_id = \(application)")
        connection.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: file.path))
        for options in [SQLiteHabitStore.Options(), .init(isReadOnly: true), .init(createsFile: false)] {
            try expectSQLiteWrapperError(.notAStore) { _ = try file.open(options) }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == before)
        #expect(try file.folder.names() == ["store.sqlite"])
    }

    @Test func anEmptyDatabaseBecomesAStoreOnlyWhereOneMayBeMade() throws {
        let file = try SQLiteTestStore()
        let connection = try SQLiteConnection(path: file.path, mode: .create)
        try connection.exec("PRAGMA journal_mode = WAL")
        connection.close()
        try expectSQLiteWrapperError(.notAStore) { _ = try file.open(.init(createsFile: false)) }
        let store = try file.open(.init(identity: testID(5)))
        #expect(try store.information().storeID == testID(5))
        store.close()
    }

    @Test func whatIsNoDatabaseIsRefused() throws {
        let file = try SQLiteTestStore()
        try Data("habits: run, read".utf8).write(to: URL(fileURLWithPath: file.path))
        try expectSQLiteWrapperError(.notAStore) { _ = try file.open() }
        try expectSQLiteWrapperError(.notFound) {
            _ = try SQLiteHabitStore(
                path: file.folder.file("none"),
                schema: HabitSchema.current,
                options: .init(createsFile: false)
            )
        }
        try expectSQLiteWrapperError(.notFound) {
            _ = try SQLiteHabitStore(
                path: file.folder.file("none"),
                schema: HabitSchema.current,
                options: .init(isReadOnly: true)
            )
        }
    }

    @Test func aStoreOpenedForReadingIsNotWritten() throws {
        let file = try SQLiteTestStore()
        try file.make { try $0.insert(Tag(id: testID(1), name: "t")) }
        let before = try Data(contentsOf: URL(fileURLWithPath: file.path))
        let store = try file.open(.init(isReadOnly: true))
        #expect(try store.all(Tag.self) == [Tag(id: testID(1), name: "t")])
        try expectSQLiteWrapperError(.permissionDenied) { try store.save(Tag(name: "u")) }
        #expect(try store.check { _ in } == [])
        store.close()
        store.close()
        try expectSQLiteWrapperError(.closed) { _ = try store.all(Tag.self) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == before)
    }

    /// Stores of the first versions record only hashes; opening one adds the whole schema.
    @Test func anotherSchemaIsRefusedByItsHashAlone() throws {
        let file = try SQLiteTestStore()
        try file.make()
        try file.sql("DELETE FROM habitstore_metadata WHERE key = 'schema'")
        try file.open().close()
        let connection = try SQLiteConnection(path: file.path, mode: .readOnly)
        #expect(try connection.int64("SELECT count(*) FROM habitstore_metadata WHERE key = 'schema'") == 1)
        connection.close()
        try file.sql("DELETE FROM habitstore_metadata WHERE key = 'schema'")
        try file.sql("UPDATE habitstore_metadata SET value = '0' WHERE key = 'shape.Tag'")
        let error = try requireSQLiteWrapperError(.schemaMismatch) { _ = try file.open() }
        #expect(error.location.entity == "Tag")
    }

    @Test func aBackupIsAStore() throws {
        let file = try SQLiteTestStore()
        let store = try file.open()
        try store.save(Tag(id: testID(1), name: "t"))
        try store.backup(to: file.folder.file("copy"))
        try store.save(Tag(id: testID(2), name: "u"))
        store.close()
        let copy = try SQLiteHabitStore(path: file.folder.file("copy"), schema: HabitSchema.current)
        #expect(try copy.all(Tag.self).map(\.id) == [testID(1)])
        #expect(try copy.check { _ in } == [])
        copy.close()
    }

    @Test(arguments: [
        [], [""], ["a"], ["a", "b"], ["\"", "\\", "\n\u{0}\u{1f}", "ü👩‍👩‍👧", ","], ["]", "[\"a\"]"], ["\u{7f}/"],
    ])
    func listsOfTextsComeBack(_ texts: [String]) throws {
        let json = SQLiteTextList.encode(texts)
        #expect(SQLiteTextList.decode(json) == texts)
        #expect(try JSONDecoder().decode([String].self, from: Data(json.utf8)) == texts)
        let spaced = String(decoding: try JSONEncoder().encode(texts), as: UTF8.self)
        #expect(SQLiteTextList.decode(" " + spaced) == texts)
    }

    @Test(arguments: ["", "[", "[\"a\"", "[1]", "{}", "[\"a\"]x", "[,]", "\"a\"", "[\"a\" \"b\"]", "[\"\u{1}\"]"])
    func whatIsNoListOfTextsIsNil(_ json: String) { #expect(SQLiteTextList.decode(json) == nil) }
}
