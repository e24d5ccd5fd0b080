import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreImport

@Suite struct CoreDataImportTests {
    private static let dune = "AA84E164-CAFB-4AD8-9ACD-EBB399FF372A"
    private static let second = "BB84E164-CAFB-4AD8-9ACD-EBB399FF372A"

    private func derived(_ root: String, _ key: Int64) -> String {
        IdentityRule.derived(storeID: CoreDataFixture.storeID, root: root, key: key).uuidString
    }

    @Test(arguments: TargetEngine.onDisk)
    func everythingOfAFileIsInTheStoreThatWasMadeFromIt(_ engine: TargetEngine) throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(engine)
        let report = try target.update(from: fixture.path)
        #expect(report.mode == .first)
        #expect(report.lost == 0, "\(report.losses)")
        let contents = try target.contents(of: fixture.path)
        let book = try #require(contents["Book \(Self.dune)"])
        #expect(book["coreDataEntity"] == "\"Book\"")
        #expect(book["coreDataKey"] == "1")
        #expect(book["title"] == "\"Dune\"")
        #expect(book["published"] == "date(-2870596800.0)")
        #expect(book["price"] == "9.99")
        #expect(book["isColoured"] == "nil")
        let tags = [derived("Tag", 1), derived("Tag", 2)].sorted().map { "\"\($0)\"" }
        #expect(book["tagsIDs"] == "links([\(tags.joined(separator: ", "))])")
        let comic = try #require(contents["Book \(Self.second)"])
        #expect(comic["coreDataEntity"] == "\"Comic\"")
        #expect(comic["isColoured"] == "true")
        #expect(comic["cover"] == "data(\"YnBsaXN0MDA=\")")
        let page = try #require(contents["Page \(derived("Page", 9))"])
        #expect(page["bookID"] == "uuid(\"\(Self.dune)\")")
        #expect(page["bookOrder"] == "3072")
        let note = try #require(contents["Note \(derived("Note", 1))"])
        #expect(note["notesOfBookID"] == "uuid(\"\(Self.second)\")")
        #expect(contents.count == 2 + 3 + 1 + 2 + 1)
    }

    @Test(arguments: TargetEngine.onDisk)
    func linksAreKeptOnOneSideAndLeadBothWays(_ engine: TargetEngine) throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(engine)
        try target.update(from: fixture.path)
        let file = try CoreDataFile(path: fixture.path)
        let store = try target.open(file)
        let books = try store.read { transaction in
            try transaction.records(
                RecordQuery(
                    entity: "Tag",
                    filter: .compare(
                        .equal,
                        .count(CollectionPath("books"), variable: 1, .always),
                        .literal(.int(2))
                    )
                )
            )
        }
        #expect(books.map(\.values[1]) == [.int(2)], "only worms is on both books")
        let entity = try #require(store.schema.entities.first { $0.name == "Book" })
        #expect(Set(entity.relationships.map(\.name)) == ["pages", "notes", "tags", "sequels", "prequels"])
        #expect(try store.check { _ in }.isEmpty)
        store.close()
    }

    @Test(arguments: TargetEngine.onDisk)
    func theHistoryKeepsItsOrderItsTimesAndItsAuthors(_ engine: TargetEngine) throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(engine)
        let report = try target.update(from: fixture.path)
        #expect(report.transactions == 3)
        let file = try CoreDataFile(path: fixture.path)
        let store = try target.open(file)
        defer { store.close() }
        let history = try store.read { try $0.fetchHistory(after: .zero) }
        #expect(history.map(\.author) == ["Core Data import", "app", "sync", "app"])
        #expect(
            history.dropFirst().map(\.timestamp.timeIntervalSinceReferenceDate) == [
                700_000_000, 700_000_001.5, 700_000_002,
            ]
        )
        // The history knows everything except the record about the file itself.
        #expect(history[0].changes.map(\.entity) == ["CoreDataSource"])
        #expect(history[1].changes.count == 9)
        #expect(history[2].changes.map(\.id.uuidString) == [Self.dune])
        let deleted = try #require(history[3].changes.first)
        #expect(deleted.id.uuidString == derived("Page", 7))
        #expect(deleted.kind == .delete(tombstone: ["id": .uuid(deleted.id), "coreDataKey": .int(7)]))
    }

    @Test func runAgainNothingIsDoneTwice() throws {
        for history in [true, false] {
            let fixture = try CoreDataFixture.library(history: history)
            let target = try ImportTarget(.sqlite)
            try target.update(from: fixture.path)
            let before = try target.contents(of: fixture.path)
            let report = try target.update(from: fixture.path)
            #expect(report.mode == (history ? .followed : .compared))
            #expect(report.entities.allSatisfy { $0.inserted + $0.updated == 0 } == true)
            #expect(try target.contents(of: fixture.path) == before)
        }
    }

    @Test func withoutAHistoryChangesAreAppliedAndWhatIsGoneIsCountedAndLeft() throws {
        let fixture = try CoreDataFixture.library(history: false)
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        try fixture.sql(
            "UPDATE ZBOOK SET ZTITLE = 'Arrakis' WHERE Z_PK = 1; DELETE FROM ZPAGE WHERE Z_PK = 5; INSERT INTO ZTAG VALUES (3, 5, 1, 'new')"
        )
        let report = try target.update(from: fixture.path)
        #expect(report.mode == .compared)
        #expect(report.entities.first { $0.source == "Book" }?.updated == 1)
        #expect(report.entities.first { $0.source == "Tag" }?.inserted == 1)
        #expect(report.gone == 1)
        #expect(report.deleted == 0)
        let contents = try target.contents(of: fixture.path)
        #expect(contents["Book \(Self.dune)"]?["title"] == "\"Arrakis\"")
        #expect(contents["Page \(derived("Page", 5))"] != nil)
    }

    @Test func whatTheStoreCannotHoldIsInTheAttachmentOnce() throws {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql("UPDATE ZBOOK SET ZTITLE = x'FF00', ZPUBLISHED = 'yesterday' WHERE Z_PK = 1")
        let target = try ImportTarget(.sqlite)
        let report = try target.update(from: fixture.path)
        #expect(
            Set(report.losses.map { "\($0.entity).\($0.property ?? "") \($0.count)" }) == [
                "Book.title 1", "Book.published 1",
            ]
        )
        let path = try #require(report.attachment)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.split(separator: "\n").count == 2)
        #expect(text.contains("\"value\":{\"base64\":\"/wA=\"}"))
        #expect(text.contains("\"value\":\"yesterday\""))
        try target.update(from: fixture.path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    /// The first import was one transaction of the engine, and a file of a million records took 486 MB with LMDB. Now it runs in batches; a stopped
    /// one has
    /// left records that must not be taken for all.
    @Test(arguments: TargetEngine.onDisk)
    func aFirstImportThatIsStoppedIsBegunAnew(_ engine: TargetEngine) throws {
        struct Stopped: Error {}
        let fixture = try CoreDataFixture.library()
        try fixture.sql(
            """
            WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 5009)
            INSERT INTO ZTAG SELECT i, 5, 1, 'tag ' || i FROM n
            """
        )
        let (target, fresh) = (try ImportTarget(engine), try ImportTarget(engine))
        let file = try CoreDataFile(path: fixture.path)
        let store = try target.open(file)
        #expect(throws: Stopped.self) {
            try CoreDataImporter(file, into: store).run { done, _ in if done >= 4_000 { throw Stopped() } }
        }
        #expect(try store.replicaRead { try $0.information().token } == .zero)
        #expect(throws: HabitStoreError.self) { try store.read { try $0.countRecords(RecordQuery(entity: "Tag")) } }
        #expect(try store.replicaRead { try $0.count(entity: store.schema.position(ofEntity: "Tag")) } >= 2_000)
        store.close()
        file.close()
        try fixture.sql("DELETE FROM ZTAG WHERE Z_PK = 11")
        #expect(try target.update(from: fixture.path).mode == .first)
        try fresh.update(from: fixture.path)
        #expect(try target.contents(of: fixture.path).differences(from: fresh.contents(of: fixture.path)) == [])
        let again = try target.update(from: fixture.path)
        #expect(again.entities.allSatisfy { $0.inserted + $0.updated == 0 })
    }

    @Test func dataThatIsKeptBesideTheFileIsNamed() throws {
        let fixture = try CoreDataFixture.library(history: false)
        let name = "0F0F0F0F-1111-4222-8333-444444444444".utf8.map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        try fixture.sql("UPDATE ZBOOK SET ZCOVER = x'02\(name)00' WHERE Z_PK = 1")
        let target = try ImportTarget(.sqlite)
        let report = try target.update(from: fixture.path)
        #expect(
            report.losses.map { "\($0.entity).\($0.property ?? "") \($0.count) \($0.reason)" } == [
                "Book.cover 1 a reference to data beside the file that is not there or cannot be read"
            ]
        )
        let inspection = try CoreDataInspection(CoreDataFile(path: fixture.path))
        #expect(inspection.oddities.map(\.kind) == ["valueOdd"])
    }

    @Test func recordsWithoutAnIdentityOfTheirOwnGetOneThatStays() throws {
        let fixture = try CoreDataFixture.library(history: false)
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        // After the import, one book loses its number and two get the same one.
        try fixture.sql(
            """
            DROP INDEX Z_Book_UNIQUE_isbn;
            INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZISBN) VALUES (3, 1, 1, 'none', NULL),
              (4, 1, 1, 'same', x'AA84E164CAFB4AD89ACDEBB399FF372A');
            """
        )
        try target.update(from: fixture.path)
        let contents = try target.contents(of: fixture.path)
        #expect(contents["Book \(Self.dune)"]?["coreDataKey"] == "1")
        #expect(contents["Book \(derived("Book", 3))"]?["title"] == "\"none\"")
        #expect(contents["Book \(derived("Book", 4))"]?["title"] == "\"same\"")
    }

    @Test func aUUIDThatNamesAnotherRecordIsNoIdentity() throws {
        let fixture = try CoreDataFixture()
        try fixture.metadata()
        try fixture.model(
            FixtureModel(entities: [.init(name: "Feedback", attributes: [.init(name: "bookID", type: 1_100)])])
        )
        try fixture.entities([(1, "Feedback", 0, 1)])
        try fixture.sql("CREATE TABLE ZFEEDBACK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBOOKID BLOB)")
        try fixture.sql("INSERT INTO ZFEEDBACK VALUES (1, 1, 1, x'AA84E164CAFB4AD89ACDEBB399FF372A')")
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        let contents = try target.contents(of: fixture.path)
        #expect(contents["Feedback \(derived("Feedback", 1))"]?["bookID"] == "uuid(\"\(Self.dune)\")")
    }

    @Test func aStoreOfAnotherOriginAndAFileOfAnotherModelAreRefused() throws {
        let fixture = try CoreDataFixture.library()
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        let before = try target.contents(of: fixture.path)
        // The app migrates: the numbers of its entities change, and perhaps all keys with them.
        try fixture.sql("UPDATE Z_PRIMARYKEY SET Z_ENT = 7 WHERE Z_ENT = 5; UPDATE ZTAG SET Z_ENT = 7")
        let migrated = #expect(throws: HabitStoreError.self) { try target.update(from: fixture.path) }
        #expect(migrated?.code == .schemaMismatch)
        try fixture.sql("UPDATE Z_PRIMARYKEY SET Z_ENT = 5 WHERE Z_ENT = 7; UPDATE ZTAG SET Z_ENT = 5")
        try fixture.sql("UPDATE Z_METADATA SET Z_UUID = '99999999-2222-4333-8444-555555555555'")
        let other = #expect(throws: HabitStoreError.self) { try target.update(from: fixture.path) }
        #expect(other?.code == .notAuthoritative)
        #expect(try target.contents(of: fixture.path) == before)
    }
}
