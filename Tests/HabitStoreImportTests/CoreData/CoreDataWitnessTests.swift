import Foundation
import HabitStore
import HabitStoreSQLite
import HabitStoreTesting
import HabitTracker
import ShadowVerifier
import Testing

@testable import HabitStoreImport

/// The verifier compares the file itself with the result of the import, with code that the import does not use.
@Suite struct CoreDataWitnessTests {
    @Test(arguments: TargetEngine.onDisk)
    func whatWasImportedIsWhatIsInTheFile(_ engine: TargetEngine) throws {
        let fixture = try CoreDataFixture.library()
        try fixture.sql(
            """
            UPDATE ZBOOK SET ZTITLE = 7, ZPRICE = '12.5', ZPUBLISHED = 9e999 WHERE Z_PK = 1;
            INSERT INTO ZPAGE VALUES (11, 4, 1, 1.0, 99, 1, NULL), (12, 4, 1, 1.5, NULL, NULL, NULL);
            INSERT INTO Z_1TAGS VALUES (2, 55);
            """
        )
        let target = try ImportTarget(engine)
        try target.update(from: fixture.path)
        let report = try target.verification(of: fixture.path)
        #expect(report.verdict == .match, "\(report.differences.map(\.message))")
        #expect(report.a.counts == ["Book": 2, "Page": 5, "Tag": 2, "Note": 1, "CoreDataSource": 1])
    }

    @Test(arguments: 0..<3)
    func aStoreThatFollowsIsEqualToTheFileAfterEachUpdate(_ round: Int) throws {
        let seed = UInt64.random(in: .min ... .max)
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(round % 2 == 0 ? .sqlite : .lmdb)
        var app = FixtureApp(fixture, seed: seed)
        for _ in 0..<6 {
            for _ in 0..<3 { try app.save() }
            try target.update(from: fixture.path)
            let report = try target.verification(of: fixture.path)
            #expect(report.verdict == .match, "seed \(seed): \(report.differences.map(\.message))")
        }
    }

    /// A fault in the store, and the text by which it is found.
    static let faults: [(String, String)] = [
        ("UPDATE \"Book\" SET \"published\" = \"published\" + 0.0001 WHERE \"coreDataKey\" = 1", "published"),
        ("UPDATE \"Book\" SET \"title\" = 'Duna' WHERE \"coreDataKey\" = 1", "title"),
        ("UPDATE \"Book\" SET \"isColoured\" = 0 WHERE \"coreDataKey\" = 2", "isColoured"),
        ("UPDATE \"Page\" SET \"bookOrder\" = 1 WHERE \"coreDataKey\" = 3", "bookOrder"),
        ("UPDATE \"Page\" SET \"bookID\" = NULL WHERE \"coreDataKey\" = 3", "bookID"),
        ("UPDATE \"Note\" SET \"notesOfBookID\" = NULL", "notesOfBookID"),
        ("DELETE FROM \"Tag\" WHERE \"coreDataKey\" = 2", "missing"),
    ]

    @Test(arguments: faults)
    func aFaultInTheStoreIsFoundByName(_ fault: (sql: String, name: String)) throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        try CoreDataFixture.run(fault.sql, on: target.path)
        let report = try target.verification(of: fixture.path)
        #expect(report.verdict == .mismatch)
        let found = report.differences.contains { difference in
            difference.attribute == fault.name || (fault.name == "missing" && difference.kind == .missingInB)
        }
        #expect(found, "\(report.differences.map(\.message))")
    }

    @Test func theFileIsNotEqualToAStoreThatIsBehind() throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        var app = FixtureApp(fixture, seed: 5)
        try app.save()
        let report = try target.verification(of: fixture.path)
        #expect(report.verdict == .mismatch)
        #expect(report.differences.contains { $0.entity == "CoreDataSource" && $0.attribute == "transaction" })
    }

    @Test func aMappedStoreIsComparedByItsMapping() throws {
        let fixture = try CoreDataFixture.library()
        let mapping = CoreDataMapping(entities: [
            .init(
                source: "Page",
                target: "Entry",
                attributes: ["number": "value"],
                constants: ["date": .int(9), "note": .string("page")]
            ),
            .init(source: "Tag", target: "Tag", attributes: ["name": "name"]),
        ])
        let folder = try TemporaryFolder()
        let path = folder.path("habits.sqlite")
        let store = try SQLiteHabitStore(path: path, schema: HabitSchema.current)
        defer { store.close() }
        let file = try CoreDataFile(path: fixture.path)
        _ = try CoreDataImporter(file, mapping, into: store, notesPath: path).run()
        func verdict() throws -> VerificationReport.Verdict {
            let witness = try CoreDataWitness.store(of: file, mapping, for: store)
            return try ShadowVerifier(.init(name: "file", store: witness), .init(name: "store", store: store)).run()
                .verdict
        }
        #expect(try verdict() == .match)
        try store.write(author: "me") { transaction in
            var tag = try #require(try transaction.all(Tag.self).first)
            tag.name = "other"
            try transaction.save(tag)
        }
        #expect(try verdict() == .mismatch)
    }
}
