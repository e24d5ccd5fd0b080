import Foundation
@_spi(Engines) import HabitStore
import HabitStoreSQLite
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreImport

@Suite struct CoreDataMappingTests {
    /// Books become habits, their pages entries, and their tags tags.
    private var mapping: CoreDataMapping {
        CoreDataMapping(entities: [
            .init(
                source: "Book",
                target: "Habit",
                identity: "isbn",
                attributes: [
                    "title": "name", "published": "createdAt", "isColoured": "isArchived", "price": "target",
                    "link": nil,
                ],
                relationships: ["tags": "tags", "pages": "entries"],
                constants: [
                    "streak": .int(0), "timesPerPeriod": .int(1), "periodDays": .int(1), "isArchived": .bool(false),
                    "createdAt": .string("2020-01-01T00:00:00Z"),
                ]
            ),
            .init(
                source: "Page",
                target: "Entry",
                attributes: ["number": "value"],
                relationships: ["book": "habit"],
                constants: ["date": .double(0.5)]
            ),
            .init(source: "Tag", target: "Tag", attributes: ["name": "name"], relationships: ["books": "habits"]),
        ])
    }

    private final class Store {
        let folder: TemporaryFolder
        let path: String
        let store: SQLiteHabitStore

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("habits.sqlite")
            store = try SQLiteHabitStore(path: path, schema: HabitSchema.current)
        }

        deinit { store.close() }

        @discardableResult
        func update(
            _ fixture: CoreDataFixture,
            _ mapping: CoreDataMapping,
            _ options: CoreDataImporter.Options = .init()
        ) throws -> CoreDataImportReport {
            let file = try CoreDataFile(path: fixture.path)
            defer { file.close() }
            return try CoreDataImporter(file, mapping, into: store, notesPath: path, options).run()
        }

        func habits() throws -> [String: Habit] {
            Dictionary(
                try store.read { try $0.all(Habit.self) }.map { ($0.name, $0) },
                uniquingKeysWith: { first, _ in first }
            )
        }
    }

    @Test func aMappedFileBecomesHabitsWithTheirEntriesAndTags() throws {
        let (fixture, target) = (try CoreDataFixture.library(), try Store())
        // A habit needs a creation date; the comic has one.
        try fixture.sql("UPDATE ZBOOK SET ZPUBLISHED = 7 WHERE Z_PK = 1")
        let report = try target.update(fixture, mapping)
        #expect(report.mode == .first)
        let habits = try target.habits()
        let dune = try #require(habits["Dune"])
        #expect(dune.id.uuidString == "AA84E164-CAFB-4AD8-9ACD-EBB399FF372A")
        #expect(dune.target == 9.99)
        #expect(dune.createdAt == Date(timeIntervalSinceReferenceDate: 7))
        #expect(habits["Dune II"]?.isArchived == true)
        let tags = try target.store.read { try $0.all(Tag.self) }
        #expect(dune.tagIDs == Set(tags.map(\.id)))
        let entries = try target.store.read { try $0.all(Entry.self) }
        #expect(entries.map(\.habitID) == [dune.id, dune.id, dune.id])
        #expect(Set(entries.compactMap(\.value)) == [10, 20, 30])
        #expect(report.losses.map { "\($0.entity).\($0.property ?? "-") \($0.count)" }.contains("Note.- 1"))
        #expect(report.losses.map { "\($0.entity).\($0.property ?? "-") \($0.count)" }.contains("Book.link 1"))
        let kept = try String(contentsOfFile: target.path + ".unmapped.jsonl", encoding: .utf8)
        #expect(kept.contains("\"text\":\"borrowed\""))
        #expect(kept.contains("\"author\":\"sync\""), "the history is kept")
    }

    @Test func aRecordThatCannotBeAHabitIsKeptAndWhatLeadsToItToo() throws {
        let (fixture, target) = (try CoreDataFixture.library(), try Store())
        try fixture.sql("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 1; UPDATE ZTAG SET ZNAME = 'same'")
        let report = try target.update(fixture, mapping)
        #expect(report.entities.first { $0.source == "Book" }?.refused == 1)
        #expect(report.entities.first { $0.source == "Tag" }?.refused == 1)
        let reasons = Set(report.losses.map(\.reason))
        #expect(
            reasons.isSuperset(of: ["Habit.name needs a value", "leads to no record", "another Tag has the same name"])
        )
        #expect(try target.store.read { try $0.all(Entry.self) }.allSatisfy { $0.habitID == nil } == true)
        #expect(try target.store.check { _ in }.isEmpty)
    }

    /// A page that was written without a history entry was never looked for.
    @Test func whatTheHistoryDoesNotTellOfComesToo() throws {
        let (fixture, target) = (try CoreDataFixture.library(), try Store())
        try target.update(fixture, mapping)
        try fixture.sql("INSERT INTO ZPAGE (Z_PK, Z_ENT, Z_OPT, ZNUMBER, ZBOOK) VALUES (50, 4, 1, 77, 1)")
        let report = try target.update(fixture, mapping)
        #expect(report.mode == .compared)
        #expect(report.oddities.contains { $0.kind == "historyIncomplete" })
        #expect(try target.store.read { try $0.all(Entry.self) }.contains { $0.value == 77 } == true)
        #expect(try target.update(fixture, mapping).mode == .followed)
    }

    @Test func runAgainTheSourcesChangesComeAndOnesOwnStay() throws {
        let (fixture, target) = (try CoreDataFixture.library(), try Store())
        try target.update(fixture, mapping)
        let again = try target.update(fixture, mapping)
        #expect(again.entities.allSatisfy { $0.inserted + $0.updated == 0 } == true)
        // A user renames one habit here and deletes a tag, and the app renames the other habit.
        var dune = try #require(try target.habits()["Dune"])
        dune.name = "Mine"
        let mine = dune
        let tag = try #require(try target.store.read { try $0.all(Tag.self) }.first { $0.name == "desert" })
        try target.store.write(author: "me") { transaction in
            try transaction.save(mine)
            _ = try transaction.delete(Tag.self, id: tag.id)
        }
        try fixture.sql(
            """
            UPDATE ZBOOK SET ZTITLE = 'Arrakis' WHERE Z_PK = 2;
            INSERT INTO ATRANSACTION (Z_PK, ZTIMESTAMP, ZAUTHORTS) VALUES (4, 5, 2);
            INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES (12, 1, 2, 2, 4);
            """
        )
        let report = try target.update(fixture, mapping)
        #expect(report.mode == .followed)
        #expect(report.transactions == 1)
        #expect(Set(try target.habits().keys) == ["Mine", "Arrakis"])
        #expect(try target.store.read { try $0.all(Tag.self) }.map(\.name) == ["worms"])
        #expect(try target.store.read { try $0.fetchHistory(after: .zero) }.last?.author == "sync")
    }

    @Test(arguments: 0..<4)
    func followedAndStoppedAnywhereItIsWhatANewImportGives(_ round: Int) throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        let (fixture, target) = (try CoreDataFixture.library(), try Store())
        var app = FixtureApp(fixture, seed: seed)
        struct Stopped: Error {}
        for _ in 0..<10 {
            for _ in 0..<Int.random(in: 0...4, using: &generator) { try app.save() }
            var options = CoreDataImporter.Options()
            let stop = Bool.random(using: &generator)
            options.didCommit = { number in if stop, (number ?? 0) % 3 == 0 { throw Stopped() } }
            do { try target.update(fixture, mapping, options) } catch is Stopped {}
        }
        try target.update(fixture, mapping)
        let fresh = try Store()
        try fresh.update(fixture, mapping)
        let differing = try target.store.contents().differences(from: fresh.store.contents())
        #expect(differing.isEmpty, "seed \(seed): \(differing)")
    }

    @Test func aSlipInTheMappingIsFoundBeforeAnythingIsWritten() throws {
        let (fixture, target) = (try CoreDataFixture.library(), try Store())
        func message(_ change: (inout CoreDataMapping) -> Void) throws -> String {
            var changed = mapping
            change(&changed)
            let error = #expect(throws: HabitStoreError.self) { try target.update(fixture, changed) }
            #expect(error?.code == .invalidValue)
            return error?.message ?? ""
        }
        #expect(try message { $0.entities[0].source = "Buch" }.contains("the file has no entity Buch"))
        #expect(try message { $0.entities[0].target = "Gewohnheit" }.contains("the schema has no entity Gewohnheit"))
        #expect(try message { $0.entities[0].attributes["titel"] = "name" }.contains("Book has no attribute titel"))
        #expect(try message { $0.entities[0].attributes["price"] = "preis" }.contains("Habit has no attribute preis"))
        #expect(
            try message { $0.entities[0].attributes["link"] = "name" }.contains(
                "more than one thing is mapped to Habit.name"
            )
        )
        #expect(try message { $0.entities[0].constants["streak"] = .string("x") }.contains("is not of the kind int"))
        #expect(try message { $0.entities[0].constants["streak"] = nil }.contains("Habit.streak needs a value"))
        #expect(try message { $0.entities[1].relationships["book"] = "tag" }.contains("Entry has no relationship tag"))
        #expect(
            try message {
                $0.entities[2].relationships["books"] = nil; $0.entities[0].identity = "title2"
            }.contains("identity")
        )
        #expect(try target.store.replicaRead { try $0.information().token } == .zero)
    }

    @Test func aMappingIsReadAsItIsWrittenAndNamesWhatIsWrong() throws {
        #expect(try !mapping.json().contains("questions"))
        var asking = mapping
        asking.entities[0].questions = ["price": "is it the target?"]
        for mapping in [mapping, asking] {
            #expect(try CoreDataMapping(parsing: Data(try mapping.json().utf8)) == mapping)
        }
        func message(_ text: String) -> String? {
            #expect(throws: HabitStoreError.self) { try CoreDataMapping(parsing: Data(text.utf8)) }?.message
        }
        #expect(message("{") == "the mapping cannot be read: it is not JSON")
        #expect(
            message("{\"format\": 1, \"entities\": [{\"target\": 3}]}")?.contains("source is missing at entities.[0]")
                == true
        )
        #expect(message("{\"format\": 2, \"entities\": []}")?.contains("format 2") == true)
    }

    /// Constants that nobody had declared, and the first date of a record, were written into suggestions, and imported.
    @Test func whatNamesAndTheSchemaDoNotSayIsAQuestion() throws {
        let fixture = try CoreDataFixture()
        try fixture.metadata()
        let task = FixtureModel.Relationship(name: "task", destination: "Task", inverse: nil)
        try fixture.model(
            FixtureModel(entities: [
                .init(name: "Task", attributes: [.init(name: "title", type: 700)]),
                .init(name: "Routine", attributes: [.init(name: "title", type: 700)]),
                .init(name: "Log", attributes: [.init(name: "createdDate", type: 900)], relationships: [task]),
            ])
        )
        try fixture.entities([(1, "Log", 0, 0), (2, "Routine", 0, 0), (3, "Task", 0, 2)])
        try fixture.sql(
            """
            CREATE TABLE ZTASK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR);
            CREATE TABLE ZROUTINE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR);
            CREATE TABLE ZLOG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTASK INTEGER, ZCREATEDDATE TIMESTAMP);
            INSERT INTO ZTASK VALUES (1, 3, 1, NULL), (2, 3, 1, NULL);
            """
        )
        let file = try CoreDataFile(path: fixture.path)
        let suggested = try CoreDataMapping.suggested(for: file, to: HabitSchema.current)
        let entities = Dictionary(uniqueKeysWithValues: suggested.entities.map { ($0.source, $0) })
        #expect(entities["Task"]?.target == "Habit")
        #expect(entities["Task"]?.constants.keys.sorted() == ["isArchived", "periodDays", "timesPerPeriod"])
        #expect(entities["Task"]?.questions.keys.sorted() == ["createdAt", "streak", "title"])
        #expect(entities["Task"]?.questions["title"] == "name, or null? 2 of 2 records have none, and would be refused")
        #expect(entities["Routine"]?.target == nil)
        #expect(entities["Routine"]?.questions["target"] == "Habit, or null? another entity could be Habit, too")
        #expect(entities["Log"]?.attributes == ["createdDate": nil])
        #expect(entities["Log"]?.relationships == ["task": "habit"])
        #expect(entities["Log"]?.questions.keys.sorted() == ["createdDate"])
    }

    @Test func theSuggestionFitsOnceItsQuestionIsAnswered() throws {
        let fixture = try CoreDataFixture()
        try fixture.metadata()
        try fixture.model(
            FixtureModel(entities: [
                .init(
                    name: "ABCTask",
                    attributes: [
                        .init(name: "uuid", type: 1_100), .init(name: "title", type: 700),
                        .init(name: "createdDate", type: 900),
                        .init(name: "colour", type: 700),
                    ],
                    relationships: [
                        .init(name: "outcomes", destination: "ABCOutcome", inverse: "task", isToMany: true)
                    ]
                ),
                .init(
                    name: "ABCOutcome",
                    attributes: [.init(name: "timestamp", type: 900), .init(name: "comment", type: 700)],
                    relationships: [.init(name: "task", destination: "ABCTask", inverse: "outcomes")]
                ),
                .init(name: "ABCThing"),
            ])
        )
        try fixture.entities([(1, "ABCOutcome", 0, 1), (2, "ABCTask", 0, 1), (3, "ABCThing", 0, 0)])
        try fixture.sql(
            """
            CREATE TABLE ZABCTASK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCREATEDDATE TIMESTAMP, ZTITLE VARCHAR,
              ZCOLOUR VARCHAR, ZUUID BLOB);
            CREATE TABLE ZABCOUTCOME (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTASK INTEGER,
              ZTIMESTAMP TIMESTAMP, ZCOMMENT VARCHAR);
            CREATE TABLE ZABCTHING (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER);
            INSERT INTO ZABCTASK VALUES (1, 2, 1, 5, 'Run', 'red', x'AA84E164CAFB4AD89ACDEBB399FF372A');
            INSERT INTO ZABCOUTCOME VALUES (1, 1, 1, 1, 6, 'rain');
            """
        )
        let file = try CoreDataFile(path: fixture.path)
        var suggested = try CoreDataMapping.suggested(for: file, to: HabitSchema.current)
        let task = try #require(suggested.entities.first { $0.source == "ABCTask" })
        #expect(task.target == "Habit")
        #expect(task.identity == "uuid")
        let expected: [String: String?] = ["title": "name", "createdDate": "createdAt", "colour": nil]
        #expect(task.attributes == expected)
        #expect(suggested.entities.first { $0.source == "ABCThing" }?.target == nil)
        let target = try Store()
        let error = #expect(throws: HabitStoreError.self) { try target.update(fixture, suggested) }
        #expect(error?.message.hasPrefix("the mapping has an open question, ABCTask.streak: what is it?") == true)
        #expect(suggested.openQuestions.count == 1)
        for place in suggested.entities.indices where suggested.entities[place].source == "ABCTask" {
            suggested.entities[place].constants["streak"] = .int(0)
            suggested.entities[place].questions = [:]
        }
        let report = try target.update(fixture, suggested)
        #expect(report.losses.map { "\($0.entity).\($0.property ?? "-")" } == ["ABCTask.colour"])
        let entry = try #require(try target.store.read { try $0.all(Entry.self) }.first)
        #expect(entry.note == "rain")
        #expect(entry.habitID == (try target.habits()["Run"]?.id))
    }
}
