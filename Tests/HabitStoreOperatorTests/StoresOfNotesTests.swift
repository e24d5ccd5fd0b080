import Foundation
import HabitStore
import HabitStoreSQLite
import HabitTracker
import RawStoreFiles
import Testing

/// Stores with an app's schema, through a command that the app declares in three lines.
@Suite(.timeLimit(.minutes(5)))
struct StoresOfNotesTests {
    private let sandbox: NotesSandbox

    init() throws { sandbox = try NotesSandbox() }

    @Test func aStoreIsDescribedCheckedCopiedAndCompared() throws {
        try sandbox.makeStore("a.sqlite", "milk", "bread")
        let info = try sandbox.run("info", "a.sqlite", "--format", "json").succeeded().json()
        #expect(info["schemaVersion"] as? String == "8.0.0")
        #expect(info["counts"] as? [String: Int] == ["Notebook": 1, "Note": 2])
        #expect(try sandbox.run("check", "a.sqlite").succeeded().output == "sound: 3 records checked\n")
        #expect(try sandbox.run("copy", "a.sqlite", "lmdb:b.lmdb").succeeded().output.hasPrefix("copied 3 records"))
        #expect(try sandbox.run("verify", "a.sqlite", "b.lmdb").succeeded().output.hasPrefix("IDENTICAL"))
        let found = try sandbox.run("query", "Note", #"title == "milk""#, "--count", "--store", "b.lmdb").succeeded()
        #expect(found.output == "1\n")
        #expect(try sandbox.run("history", "b.lmdb").succeeded().output.contains("Notebook"))
        let lint = try sandbox.run("schema", "lint", "--cloudkit")
        #expect(lint.status == 1 && lint.output.contains("the schema that ships, 8.0.0"), "\(lint.output)")
    }

    @Test func anAppsOwnFileIsMappedCheckedAndImported() throws {
        try RawDatabase(path: sandbox.path("app.db")).execute(
            """
            CREATE TABLE notebook (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT, notebook_id INTEGER REFERENCES notebook, color TEXT);
            INSERT INTO notebook VALUES (1, 'Everything');
            INSERT INTO note VALUES (1, 'milk', 1, 'red'), (2, 'bread', NULL, NULL);
            """
        )
        let suggested = try sandbox.run("map", "suggest", "app.db")
        #expect(suggested.status == 0)
        let question =
            "notes-ops: note: note: color (texts: red) is called like no attribute of Note: does it become isPinned, or is it excluded?"
        #expect(suggested.errors.contains(question), "\(suggested.errors)")
        try sandbox.write("m.json", suggested.output)
        let asked = try sandbox.run("map", "check", "app.db", "m.json")
        #expect(asked.status == 1 && asked.output.contains("an open question"), "\(asked.output)")
        let refused = try sandbox.run("map", "import", "app.db", "m.json", "--into", "sqlite:a.sqlite")
        refused.failed(64, saying: "an open question")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("a.sqlite")))
        var mapping = try suggested.json()
        var tables = try #require(mapping["tables"] as? [[String: Any]])
        for (index, table) in tables.enumerated() where table["table"] as? String == "note" {
            tables[index]["excluded"] = "color"
            var attributes = try #require(table["attributes"] as? [String: Any])
            attributes["isPinned"] = ["constant": false]
            tables[index]["attributes"] = attributes
            tables[index]["questions"] = nil
        }
        mapping["tables"] = tables
        try sandbox.write(
            "m.json",
            String(decoding: try JSONSerialization.data(withJSONObject: mapping), as: UTF8.self)
        )
        let checked = try sandbox.run("map", "check", "app.db", "m.json").succeeded()
        #expect(checked.output.contains("note: 2 rows become Note"), "\(checked.output)")
        let imported = try sandbox.run("map", "import", "app.db", "m.json", "--into", "sqlite:a.sqlite").succeeded()
        #expect(imported.output.contains("verified: read again by other code"), "\(imported.output)")
        let found = try sandbox.run("query", "Note", "notebookID != nil", "--count", "--store", "a.sqlite").succeeded()
        #expect(found.output == "1\n")
        try sandbox.run("map", "import", "app.db", "m.json", "--into", "sqlite:a.sqlite").failed(
            74,
            saying: "has records already"
        )
        try RawDatabase(path: sandbox.path("app.db")).execute("INSERT INTO note VALUES (3, 'jam', NULL, NULL)")
        let merged = try sandbox.run("map", "import", "app.db", "m.json", "--into", "a.sqlite", "--merge").succeeded()
        #expect(merged.output.contains("merged: 1 new, 3 in the store already\n"), "\(merged.output)")
        let adopted = try sandbox.run("map", "adopt", "app.db", "m.json").succeeded()
        #expect(adopted.output.contains("note: 3 rows are Note\n"), "\(adopted.output)")
        try sandbox.run("map", "adopt", "app.db", "m.json").failed(64, saying: "a store already")
        try sandbox.run("map", "unadopt", "app.db").succeeded()
        try sandbox.run("map", "unadopt", "app.db").failed(65, saying: "was not adopted")
    }

    /// Any app's command exports its stores and reads them back, into a store or a user's.
    @Test(arguments: ["csv", "json"]) func anExportComesBack(_ format: String) throws {
        try sandbox.makeStore("a.sqlite", "milk", "bread")
        let exported = try sandbox.run("export", "out", "--format", format, "--store", "a.sqlite").succeeded()
        #expect(exported.output.contains("2 Note"), "\(exported.output)")
        let dry = try sandbox.run("import", "out", "--dry-run").succeeded()
        #expect(dry.output.contains("2 would be added"), "\(dry.output)")
        let imported = try sandbox.run("import", "out", "--into", "lmdb:b.lmdb").succeeded()
        #expect(imported.output.contains("verified: read back"), "\(imported.output)")
        try sandbox.run("verify", "a.sqlite", "b.lmdb").succeeded()
        try sandbox.run("import", "out").succeeded()
        let again = try sandbox.run("import", "out").succeeded()
        #expect(again.output.contains("0 added, 2 here already"), "\(again.output)")
        let inspected = try sandbox.run("inspect", "b.lmdb").succeeded()
        #expect(inspected.output.contains("Note"), "\(inspected.output)")
        try sandbox.run("import", "a.sqlite").failed(
            65,
            saying: "this is not an export of this program; `notes-ops map suggest a.sqlite`"
        )
    }

    /// What first launches came to, of one user and of many.
    @Test func launchRecordsAreShown() throws {
        func record(_ state: String, _ more: String) -> String {
            #"{"format": 1, "file": "\#(state).db", "state": "\#(state)", "attempts": 3, "firstAttempt": "2026-11-26T08:00:00Z", "hasSeenFile": true\#(more)}"#
        }
        let reason = #", "reason": {"code": "busy", "message": "waiting.db: another program is writing to it"}"#
        try sandbox.write("waiting.db.launch.json", record("waiting", reason))
        let waiting = try sandbox.run("map", "status", "waiting.db.launch.json")
        #expect(waiting.status == 1)
        #expect(
            waiting.output.hasPrefix("waiting.db: the old file serves (3 launches since 2026-11-26"),
            "\(waiting.output)"
        )
        #expect(waiting.output.hasSuffix("): busy: waiting.db: another program is writing to it\n"))
        try FileManager.default.createDirectory(atPath: sandbox.path("users/a"), withIntermediateDirectories: true)
        try sandbox.write("users/a/moved.db.launch.json", record("moved", #", "records": {"Note": 2, "Notebook": 1}"#))
        let moved = try sandbox.run("map", "status", "users").succeeded()
        #expect(moved.output == "users/a/moved.db: the store serves with 3 records of the file\n")
        try sandbox.write("users/late.launch.json", record("moved", #", "writtenSince": "2026-11-27T08:00:00Z""#))
        let late = try sandbox.run("map", "status", "users")
        #expect(late.status == 1 && late.output.contains("--into STORE --merge` adds what is new"), "\(late.output)")
        let metrics = try sandbox.run("map", "status", "users", "waiting.db.launch.json", "--metrics").succeeded()
        #expect(
            metrics.output.contains(#"habitstore_first_launches{state="waiting",reason="busy"} 1"#),
            "\(metrics.output)"
        )
        #expect(metrics.output.contains("habitstore_old_files_written 1\n"))
        // It was said to serve.
        let failure = #", "failure": {"code": "staleStore", "message": "the store is missing"}"#
        try sandbox.write("failing.db.launch.json", record("moved", failure))
        let failing = try sandbox.run("map", "status", "failing.db.launch.json")
        #expect(failing.status == 1)
        #expect(
            failing.output
                == "failing.db.launch.json (moved.db): the last launch failed (staleStore: the store is missing); a store has replaced the file\n"
        )
        // It was called damaged, with the advice to remove it.
        try RawDatabase(path: sandbox.path("app.db")).execute("CREATE TABLE note (id INTEGER PRIMARY KEY)")
        try sandbox.run("map", "status", "app.db").failed(
            65,
            saying: "this is a database; its launch record is in app.db.launch.json"
        )
        try sandbox.run("map", "status", "none.launch.json").failed(74, saying: "there is no launch record here")
    }

    @Test func aDifferenceEndsAComparisonWithOne() throws {
        try sandbox.makeStore("a.sqlite", "milk")
        try sandbox.makeStore("b.sqlite", "bread")
        let compared = try sandbox.run("verify", "a.sqlite", "b.sqlite")
        #expect(compared.status == 1 && compared.errors.isEmpty, "\(compared.errors)")
    }

    @Test func anEarlierStoreGoesThroughTheAppsPlan() throws {
        try sandbox.makeEarlierStore("a.sqlite", "milk")
        try sandbox.run("copy", "a.sqlite", "lmdb:b.lmdb").succeeded()
        let tried = try sandbox.run("migrate", "a.sqlite", "--dry-run").succeeded()
        #expect(tried.output.contains("8.0.0"), "\(tried.output)")
        #expect(try version(of: "a.sqlite") == "7.0.0")
        try sandbox.run("migrate", "a.sqlite").succeeded()
        #expect(try version(of: "a.sqlite") == "8.0.0")
        let compared = try sandbox.run("verify", "a.sqlite", "b.lmdb")
        #expect(compared.output.contains("of schema version 7.0.0, through the migration plan"), "\(compared.output)")
    }

    private func version(of store: String) throws -> String? {
        try sandbox.run("info", store, "--format", "json").succeeded().json()["schemaVersion"] as? String
    }

    @Test func aStoreOfAnotherSchemaIsRefusedInOneLine() throws {
        for schema in [HabitSchemaV1.schema, HabitSchema.current] {
            let name = "habits-\(schema.version).sqlite"
            try SQLiteHabitStore(path: sandbox.path(name), schema: schema, access: .create).close()
            try sandbox.run("migrate", name).failed(
                65,
                saying: "which the migration plan does not have; it has 7.0.0, 8.0.0"
            )
        }
        let name = "habits-8.sqlite"
        let alike = Schema([Habit.self, Entry.self, Tag.self, Draft.self], version: Schema.Version(8, 0, 0))
        try SQLiteHabitStore(path: sandbox.path(name), schema: alike, access: .create).close()
        try sandbox.run("query", "Note", "--store", name).failed(64, saying: "Note")
        try sandbox.makeStore("notes.sqlite", "milk")
        try sandbox.run("copy", "notes.sqlite", name).failed(65, saying: "habits-8.sqlite")
    }
}
