import DurableFiles
import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreImport

/// For an app with unknown words, the suggestion was `null` for every entity, and nothing else; later it was a guess that was imported.
@Suite struct MappingForPeopleTests {
    private func diary() throws -> CoreDataFixture {
        let fixture = try CoreDataFixture()
        try fixture.metadata()
        try fixture.model(
            FixtureModel(entities: [
                .init(name: "Ritual", attributes: [.init(name: "wording", type: 700, isOptional: false)]),
                .init(
                    name: "Ceremony",
                    attributes: [.init(name: "held", type: 900), .init(name: "guests", type: 200)],
                    relationships: [.init(name: "ritual", destination: "Ritual", inverse: nil)]
                ),
            ])
        )
        try fixture.entities([(1, "Ceremony", 0, 2), (2, "Ritual", 0, 1)])
        try fixture.sql(
            """
            CREATE TABLE ZRITUAL (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZWORDING VARCHAR);
            CREATE TABLE ZCEREMONY (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZGUESTS INTEGER, ZRITUAL INTEGER,
              ZHELD TIMESTAMP);
            INSERT INTO ZRITUAL VALUES (1, 2, 1, 'Tea');
            INSERT INTO ZCEREMONY VALUES (1, 1, 1, 3, 1, 6), (2, 1, 1, NULL, 1, 9);
            """
        )
        return fixture
    }

    @Test func whereNoNameIsKnownTypesAndReferencesAsk() throws {
        let fixture = try diary()
        let file = try CoreDataFile(path: fixture.path)
        let suggested = try CoreDataMapping.suggested(for: file, to: HabitSchema.current)
        let ritual = try #require(suggested.entities.first { $0.source == "Ritual" })
        let ceremony = try #require(suggested.entities.first { $0.source == "Ceremony" })
        #expect([ritual.target, ceremony.target] == [nil, nil])
        let why = "or null? only its types and what it leads to say so"
        #expect(ritual.questions == ["target": "Habit, \(why); wording as name"])
        #expect(ceremony.questions == ["target": "Entry, \(why); held as date"])
        #expect(ritual.about["wording"] == "string, required, in 1 of 1 records")
        #expect(ceremony.about["guests"] == "integer32, in 1 of 2 records")
        #expect(ceremony.about["ritual"] == "leads to one Ritual")
        #expect(ritual.about["target"]?.contains("Entry has date date") == true)
        let path = fixture.folder.appendingPathComponent("mapping.json")
        try Data(try suggested.json().utf8).write(to: path)
        let run = try CommandLineRun("import", "coredata", fixture.path, "--mapping", path.path, home: fixture.folder)
        #expect(run.status == 64, "\(run.output)\(run.errors)")
        #expect(run.errors.contains("Ceremony.target: Entry, or null?"))
        #expect(run.errors.contains("(and 1 more question): edit the mapping, then delete the question"))
        let habits = try CommandLineRun("habit", "list", home: fixture.folder)
        #expect(!habits.output.contains("Tea"))
    }

    @Test func aMappingThatIsRefusedLeavesNoStore() throws {
        let fixture = try diary()
        let path = fixture.folder.appendingPathComponent("mapping.json")
        try Data("{\"format\": 1, \"entities\": [{\"source\": \"Rite\", \"target\": \"Habit\"}]}".utf8).write(to: path)
        let store = fixture.folder.appendingPathComponent("habits.sqlite").path
        let run = try CommandLineRun(
            "import",
            "coredata",
            fixture.path,
            "--mapping",
            path.path,
            "--into",
            "sqlite:\(store)",
            home: fixture.folder
        )
        #expect(run.status == 64)
        #expect(run.errors.contains("the file has no entity Rite"))
        #expect(!FileManager.default.fileExists(atPath: store))
    }

    @Test func inspectNamesTypesAndPlacesInJSON() throws {
        let fixture = try diary()
        let run = try CommandLineRun("inspect", fixture.path, "--format", "json", home: fixture.folder)
        #expect(run.output.contains("\"type\" : \"string\""))
        #expect(run.output.contains("\"kind\" : \"column\""))
        #expect(!run.output.contains("_0"))
    }

    @Test func theCopyOfAFileHasNoNameWhileItIsRead() throws {
        let fixture = try diary()
        let file = try CoreDataFile(path: fixture.path)
        let copy = file.scratchPath("source.sqlite")
        #expect(!FileManager.default.fileExists(atPath: copy))
        #expect(FileManager.default.fileExists(atPath: DurableFile.folder(of: copy)))
        #expect(try file.count(of: try #require(file.model.entity("Ceremony"))) == 2)
    }
}
