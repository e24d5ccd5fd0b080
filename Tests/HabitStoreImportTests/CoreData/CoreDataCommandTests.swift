import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreImport

@Suite struct CoreDataCommandTests {
    @Test func inspectShowsWhatIsInAFile() throws {
        let fixture = try CoreDataFixture.library()
        let text = try CommandLineRun("inspect", fixture.path, home: fixture.folder)
        #expect(text.status == 0, "\(text.errors)")
        for part in [
            "written by version 1344", "2, kept in the file",
            "3 transactions (1 to 3): 9 inserts, 1 updates, 1 deletes",
            "by app, sync", "Comic: 1 record, a kind of Book, in ZBOOK", "→ [ordered] Page, inverse book",
            "no oddities",
        ] {
            #expect(text.output.contains(part), "\(part) is not in \(text.output)")
        }
        let json = try CommandLineRun("inspect", fixture.path, "--format", "json", home: fixture.folder)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect(object["kind"] as? String == "coreData")
        let entities = try #require(object["entities"] as? [[String: Any]])
        #expect(entities.compactMap { $0["name"] as? String } == ["Book", "Comic", "Note", "Page", "Tag"])
        #expect(entities.compactMap { $0["count"] as? Int } == [1, 1, 1, 3, 2])
    }

    @Test func aFileIsImportedVerifiedShownAndFoundToDiffer() throws {
        let fixture = try CoreDataFixture.library()
        let store = fixture.folder.appendingPathComponent("store.lmdb").path
        let imported = try CommandLineRun(
            "import",
            "coredata",
            fixture.path,
            "--into",
            "lmdb:\(store)",
            home: fixture.folder
        )
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(imported.output.hasPrefix("imported 8 records and 3 transactions of the file's history\n"))
        let equal = try CommandLineRun("verify", fixture.path, store, home: fixture.folder)
        #expect(equal.status == 0, "\(equal.output)\(equal.errors)")
        #expect(equal.output.hasPrefix("IDENTICAL"))
        let shown = try CommandLineRun("inspect", store, home: fixture.folder)
        #expect(shown.output.contains("a store of this package (lmdb)"))
        #expect(shown.output.contains("CoreDataSource"))
        try fixture.sql("UPDATE ZBOOK SET ZTITLE = 'other' WHERE Z_PK = 1")
        let different = try CommandLineRun("verify", store, fixture.path, home: fixture.folder)
        #expect(different.status == 1)
        #expect(different.output.contains("title differs"))
    }

    /// An import by path wrote into any store, even into one that serves a user or follows the serving one: its records were in no history of the
    /// user's, and
    /// were gone after a kill. A store of a rollout is now refused.
    @Test(arguments: TargetEngine.onDisk)
    func aStoreOfARolloutIsRefused(_ engine: TargetEngine) throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(engine)
        let report = try target.update(from: fixture.path)
        #expect(report.entities.reduce(0) { $0 + $1.inserted } > 0)
        let file = try CoreDataFile(path: fixture.path)
        defer { file.close() }
        let store = try target.open(file)
        for role in [StoreRole.authoritative, .standby, .sealed] {
            try store.replicate { try $0.setRole(role, epoch: 1) }
            let token = try store.replicaRead { try $0.information().token }
            let run = try CommandLineRun(
                "import",
                "coredata",
                fixture.path,
                "--into",
                "\(engine.rawValue):\(target.path)",
                home: fixture.folder
            )
            #expect(run.status == 65, "\(role): \(run.output)\(run.errors)")
            #expect(run.errors.contains("a rollout has this store (\(role.rawValue), epoch 1)"), "\(run.errors)")
            #expect(try store.replicaRead { try $0.information().token } == token)
        }
        store.close()
    }

    /// Any app's command brings a Core Data file into its own schema: into a store, and into a user's.
    @Test func aFileComesIntoTheSchemaOfAnotherApp() throws {
        let fixture = try CoreDataFixture()
        try fixture.metadata()
        try fixture.model(FixtureModel(entities: [.init(name: "Task", attributes: [.init(name: "title", type: 700)])]))
        try fixture.entities([(1, "Task", 0, 2)])
        try fixture.sql(
            """
            CREATE TABLE ZTASK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR);
            INSERT INTO ZTASK VALUES (1, 1, 1, 'milk'), (2, 1, 1, 'bread');
            """
        )
        func notes(_ arguments: String...) throws -> CommandLineRun {
            try CommandLineRun(arguments, program: "NotesOperator", home: fixture.folder)
        }
        let suggested = try notes("import", "coredata", fixture.path, "--suggest-mapping")
        #expect(suggested.status == 0 && suggested.output.contains("\"Task\""), "\(suggested.errors)")
        let mapping = fixture.folder.appendingPathComponent("mapping.json").path
        try
            #"{"format": 1, "entities": [{"source": "Task", "target": "Note", "attributes": {"title": "title"}, "constants": {"isPinned": true}}]}"#
            .write(toFile: mapping, atomically: true, encoding: .utf8)
        let store = fixture.folder.appendingPathComponent("notes.sqlite").path
        let imported = try notes("import", "coredata", fixture.path, "--mapping", mapping, "--into", "sqlite:\(store)")
        #expect(
            imported.status == 0 && imported.output.hasPrefix("imported 2 records"),
            "\(imported.output)\(imported.errors)"
        )
        let found = try notes("query", "Note", "isPinned = true", "--count", "--store", store)
        #expect(found.output == "2\n", "\(found.output)\(found.errors)")
        let equal = try notes("verify", fixture.path, store, "--mapping", mapping)
        #expect(equal.status == 0, "\(equal.output)\(equal.errors)")
        let users = try notes("import", "coredata", fixture.path, "--mapping", mapping, "--user", "ada")
        #expect(users.status == 0 && users.output.hasPrefix("imported 2 records"), "\(users.output)\(users.errors)")
        let inspected = try notes("inspect", fixture.path)
        #expect(inspected.output.contains("Task: 2 records, in ZTASK"), "\(inspected.output)")
    }

    @Test func aSuggestedMappingBringsRecordsIntoTheUsersHabits() throws {
        let fixture = try CoreDataFixture()
        try fixture.metadata()
        try fixture.model(
            FixtureModel(entities: [
                .init(
                    name: "Task",
                    attributes: [.init(name: "title", type: 700), .init(name: "createdDate", type: 900)]
                )
            ])
        )
        try fixture.entities([(1, "Task", 0, 2)])
        try fixture.sql(
            """
            CREATE TABLE ZTASK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCREATEDDATE TIMESTAMP, ZTITLE VARCHAR);
            INSERT INTO ZTASK VALUES (1, 1, 1, 5, 'Run'), (2, 1, 1, 6, 'Read');
            """
        )
        let suggested = try CommandLineRun(
            "import",
            "coredata",
            fixture.path,
            "--suggest-mapping",
            home: fixture.folder
        )
        #expect(suggested.status == 0, "\(suggested.errors)")
        #expect(suggested.errors.hasPrefix("habitstore: note: open question: Task.streak: "))
        let mapping = fixture.folder.appendingPathComponent("mapping.json")
        try Data(suggested.output.utf8).write(to: mapping)
        let refused = try CommandLineRun(
            "import",
            "coredata",
            fixture.path,
            "--mapping",
            mapping.path,
            home: fixture.folder
        )
        #expect(refused.status == 64)
        #expect(refused.errors.contains("an open question, Task.streak: "))
        var answered = try CoreDataMapping(parsing: Data(suggested.output.utf8))
        (answered.entities[0].constants["streak"], answered.entities[0].questions) = (.int(0), [:])
        try Data(try answered.json().utf8).write(to: mapping)
        for expected in ["imported 2 records", "nothing to do"] {
            let run = try CommandLineRun(
                "import",
                "coredata",
                fixture.path,
                "--mapping",
                mapping.path,
                home: fixture.folder
            )
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.output.hasPrefix(expected), "\(run.output)")
        }
        let habits = try CommandLineRun("habit", "list", home: fixture.folder)
        #expect(habits.output.contains("Run") && habits.output.contains("Read"))
    }

    @Test func whatCannotBeReadEndsWithOneLineAndItsExitCode() throws {
        let fixture = try CoreDataFixture.library()
        let home = fixture.folder
        func expect(_ run: CommandLineRun, _ status: Int32, _ text: String) {
            #expect(run.status == status, "\(run.errors)")
            #expect(run.errors.contains(text), "\(run.errors)")
            #expect(run.errors.hasPrefix("habitstore: error: ") || status == 64, "\(run.errors)")
            #expect(status == 64 || run.errors.filter { $0 == "\n" }.count == 1, "\(run.errors)")
        }
        expect(try CommandLineRun("inspect", fixture.path + "-no", home: home), 74, "there is no file here")
        let text = home.appendingPathComponent("text").path
        try Data(
            "no database at all, but long enough to have a header if it were one, of which there are a hundred bytes"
                .utf8
        )
        .write(to: URL(fileURLWithPath: text))
        expect(try CommandLineRun("inspect", text, home: home), 65, "not a SQLite database")
        expect(try CommandLineRun("import", "coredata", fixture.path, home: home), 64, "say where to")
        expect(
            try CommandLineRun("import", "coredata", fixture.path, "--into", home.path + "/new", home: home),
            64,
            "name the kind of the new one"
        )
        expect(
            try CommandLineRun("import", "coredata", fixture.path, "--mapping", home.path + "/none", home: home),
            74,
            "the mapping cannot be read"
        )
        let plain = try CoreDataFixture.library(history: false)
        expect(
            try CommandLineRun(
                "import",
                "coredata",
                plain.path,
                "--into",
                "sqlite:\(home.path)/s",
                "--follow",
                home: home
            ),
            64,
            "no persistent history"
        )
    }
}
