import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreImport

@Suite struct CoreDataReaderTests {
    private func library() throws -> (CoreDataFixture, CoreDataFile) {
        let fixture = try CoreDataFixture.library(history: false)
        fixture.close()
        return (fixture, try CoreDataFile(path: fixture.path))
    }

    @Test func theModelIsReadFromTheFilesOwnCache() throws {
        let (_, file) = try library()
        #expect(file.model.origin == .modelCache)
        #expect(file.model.entities.map(\.name) == ["Book", "Comic", "Note", "Page", "Tag"])
        let book = try #require(file.model.entity("Book"))
        #expect(book.attributes.map(\.name) == ["cover", "isbn", "link", "price", "published", "title"])
        #expect(book.attribute("isbn")?.type == .uuid)
        #expect(book.attribute("isbn")?.isOptional == false)
        #expect(book.notStored == ["cached"])
        #expect(book.uniqueness == [["isbn"]])
        let comic = try #require(file.model.entity("Comic"))
        #expect(comic.superentity == "Book")
        #expect(comic.attribute("isColoured")?.defaultValue == "false")
        #expect(comic.attribute("title")?.declaredIn == "Book")
        #expect(comic.attribute("title")?.column == "ZTITLE")
        #expect(file.oddities.isEmpty, "\(file.oddities)")
    }

    @Test func eachKindOfRelationshipIsFoundWhereTheFileKeepsIt() throws {
        let (_, file) = try library()
        let book = try #require(file.model.entity("Book"))
        #expect(book.relationship("pages")?.storage == .otherSide(column: "ZBOOK"))
        #expect(book.relationship("pages")?.orderColumn == "Z_FOK_BOOK")
        #expect(book.relationship("notes")?.storage == .otherSide(column: "Z1NOTES"))
        #expect(book.relationship("tags")?.storage == .table("Z_1TAGS", here: "Z_1BOOKS", there: "Z_5TAGS"))
        #expect(book.relationship("sequels")?.storage == .table("Z_1SEQUELS", here: "Z_1PREQUELS", there: "Z_1SEQUELS"))
        #expect(
            book.relationship("prequels")?.storage == .table("Z_1SEQUELS", here: "Z_1SEQUELS", there: "Z_1PREQUELS")
        )
        let page = try #require(file.model.entity("Page"))
        #expect(page.relationship("book")?.storage == .column("ZBOOK", entityColumn: "Z1_BOOK"))
        var links: [[Int64]] = []
        try file.enumerateLinks(try #require(book.relationship("pages")), of: book) { here, there, _ in
            links.append([here, there])
        }
        #expect(links == [[1, 3], [1, 9], [1, 5]])
    }

    @Test func valuesAreReadByWhatIsStoredAndNotByWhatWasDeclared() throws {
        let (_, file) = try library()
        let book = try #require(file.model.entity("Book"))
        let row = try #require(try file.row(book, key: 1))
        func value(_ name: String) throws -> Value {
            row.values[try #require(book.attributes.firstIndex { $0.name == name })].value
        }
        // A whole second is stored as an integer, in the same column as other dates.
        #expect(try value("published") == .date(Date(timeIntervalSinceReferenceDate: -2_870_596_800)))
        #expect(try value("price") == .double(9.99))
        #expect(try value("isbn") == .uuid(try #require(UUID(uuidString: "AA84E164-CAFB-4AD8-9ACD-EBB399FF372A"))))
        #expect(try value("link") == .string("https://example.org/1"))
        #expect(try value("cover") == .null)
        let comic = try #require(file.model.entity("Comic"))
        #expect(try file.row(book, key: 2) == nil)
        let second = try #require(try file.row(comic, key: 2))
        #expect(second.values.first?.value == .data(Data("bplist00".utf8)))
        #expect(second.saves == 3)
    }

    @Test func oddTypesAreNamedAndNotRead() throws {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql("UPDATE ZBOOK SET ZTITLE = x'FF00', ZPUBLISHED = 'yesterday', ZPRICE = 9e999 WHERE Z_PK = 1")
        try fixture.sql("UPDATE ZBOOK SET ZISCOLOURED = 7, ZISBN = 'no' WHERE Z_PK = 2")
        try fixture.sql("UPDATE ZPAGE SET ZBOOK = 77 WHERE Z_PK = 3; INSERT INTO Z_1TAGS VALUES (8, 1)")
        try fixture.sql("INSERT INTO ZTAG VALUES (6, 44, 1, 'stray')")
        let inspection = try CoreDataInspection(CoreDataFile(path: fixture.path))
        let found = inspection.oddities.map { "\($0.kind) \($0.entity ?? "").\($0.property ?? "") \($0.count ?? 0)" }
        #expect(
            Set(found).isSuperset(of: [
                "valueOdd Book.title 1", "valueOdd Book.published 1", "valueOdd Book.price 1",
                "valueOdd Comic.isColoured 1",
                "valueOdd Comic.isbn 1", "danglingReference Page.book 1", "danglingLink Book.tags 1",
                "recordOfNoEntity Tag. 1",
            ]),
            "\(found)"
        )
    }

    @Test func theHistoryIsReadWithItsAuthors() throws {
        let fixture = try CoreDataFixture.library()
        let file = try CoreDataFile(path: fixture.path)
        let history = try #require(file.history)
        #expect(history.layout == .namesInTable)
        #expect(history.inserts == 9)
        #expect(history.updates == 1)
        #expect(history.deletes == 1)
        #expect(history.transactions == 3)
        #expect(history.authors == ["app", "sync"])
        #expect(history.isComplete)
        var seen: [String] = []
        try file.enumerateHistory(after: 1) { transaction, changes in
            seen.append("\(transaction.number) \(transaction.author ?? "-") \(changes.map { "\($0.kind)\($0.key)" })")
            return true
        }
        #expect(seen == ["2 sync [\"update1\"]", "3 app [\"delete7\"]"])
    }

    @Test func theOldLayoutOfTheHistoryIsReadToo() throws {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql(
            """
            CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR,
              ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR);
            CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER,
              ZTRANSACTIONID INTEGER, ZTOMBSTONE0 BLOB);
            INSERT INTO ATRANSACTION VALUES (40, 7.5, 'old app', 'org.example', NULL, 'p');
            INSERT INTO ACHANGE VALUES (1, 2, 1, 5, 40, x'CC84E164CAFB4AD89ACDEBB399FF372A'), (2, 9, 1, 5, 40, NULL),
              (3, 0, 99, 1, 40, NULL);
            """
        )
        let file = try CoreDataFile(path: fixture.path)
        let history = try #require(file.history)
        #expect(history.layout == .inlineNames)
        #expect(history.authors == ["old app"])
        #expect(history.tombstones == 1)
        #expect(Set(history.oddities.map(\.kind)) == ["changeKind", "changeElsewhere", "historyPruned"])
    }

    @Test func withoutAModelTheTablesAreGuessedAndEachGuessIsNamed() throws {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql("DROP TABLE Z_MODELCACHE")
        let file = try CoreDataFile(path: fixture.path)
        #expect(file.model.origin == .tables)
        #expect(file.oddities.map(\.kind) == ["modelGuessed"])
        let book = try #require(file.model.entity("Book"))
        #expect(!book.attributes.contains { !$0.isGuessed })
        #expect(book.attribute("isbn")?.type == .uuid)
        #expect(book.attribute("published")?.type == .date)
        // Only comics have a value in it.
        #expect(book.attribute("iscoloured") == nil)
        #expect(file.model.entity("Comic")?.attribute("iscoloured")?.type == .boolean)
        #expect(file.model.entity("Page")?.relationship("book")?.destination == "Book")
        #expect(book.relationship("notes")?.storage == .otherSide(column: "Z1NOTES"))
        #expect(book.relationship("tags")?.destination == "Tag")
        #expect(file.model.entity("Tag")?.relationship("books")?.inverse == "tags")
    }
}
