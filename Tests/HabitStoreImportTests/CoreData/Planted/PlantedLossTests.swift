import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import HabitStoreImport

/// Ways in which an import can lose something. The import's own comparison uses the import's plan, and once said IDENTICAL for a file whose plan had
/// forgotten inherited attributes and unmapped relationships: 159 messages lost their timestamps. The account starts from the contents of the file,
/// and
/// must find each of these losses.
@Suite struct PlantedLossTests {
    struct Loss: Sendable, CustomTestStringConvertible {
        let name: String
        /// Where it must be found: a table, or a table and a column.
        let place: String
        let plant: @Sendable (PlantedScene) throws -> Void

        init(_ name: String, _ place: String, _ plant: @escaping @Sendable (PlantedScene) throws -> Void) {
            (self.name, self.place, self.plant) = (name, place, plant)
        }

        var testDescription: String { name }
    }

    static let losses: [Loss] = values + references + beside + source

    private static let values: [Loss] = [
        Loss("a text is gone", "ZBOOK.ZTITLE") { try $0.edit("Book", 1, "title", .null) },
        Loss("a text is another one", "ZBOOK.ZTITLE") { try $0.edit("Book", 2, "title", .string("Duna")) },
        Loss("an instant is a second later", "ZBOOK.ZPUBLISHED") {
            try $0.edit("Book", 2, "published", .date(Date(timeIntervalSinceReferenceDate: 501.25)))
        },
        Loss("a number is gone", "ZBOOK.ZPRICE") { try $0.edit("Book", 1, "price", .null) },
        Loss("a number lost its last digits", "ZBOOK.ZPRICE") { try $0.edit("Book", 2, "price", .double(3.3333)) },
        Loss("a truth value of an entity that inherits is gone", "ZBOOK.ZISCOLOURED") {
            try $0.edit("Book", 2, "isColoured", .null)
        },
        Loss("bytes are cut short", "ZBOOK.ZCOVER") { try $0.edit("Book", 2, "cover", .data(Data([0x62]))) },
        Loss("an address is gone", "ZBOOK.ZLINK") { try $0.edit("Book", 1, "link", .null) },
        Loss("a whole number is gone", "ZPAGE.ZNUMBER") { try $0.edit("Page", 3, "number", .null) },
        Loss("a place in an order is another one", "ZPAGE.Z_FOK_BOOK") { try $0.edit("Page", 9, "bookOrder", .int(1)) },
        Loss("two texts of a record changed places", "ZBOOK.ZTITLE") { scene in
            try scene.edit("Book", 1) { description, values in
                let places = try ["title", "link"].map { try #require(description.position(of: $0)) }
                values.swapAt(places[0], places[1])
            }
        },
        Loss("a record is of another entity", "ZBOOK.Z_ENT") {
            try $0.edit("Book", 2, "coreDataEntity", .string("Book"))
        },
        Loss("a record is gone", "ZTAG.Z_PK") { try $0.remove("Tag", 2) },
        Loss("a record has another key", "ZTAG.Z_PK") { try $0.edit("Tag", 2, "coreDataKey", .int(22)) },
    ]

    private static let references: [Loss] = [
        Loss("a reference is gone", "ZPAGE.ZBOOK") { try $0.edit("Page", 3, "bookID", .null) },
        Loss("a reference leads to another record", "ZPAGE.ZBOOK") { scene in
            try scene.edit("Page", 3, "bookID", .uuid(try scene.id("Book", 2)))
        },
        Loss("a reference leads nowhere", "ZPAGE.ZBOOK") { try $0.edit("Page", 3, "bookID", .uuid(UUID())) },
        Loss("the other side of a relationship without a way back is gone", "ZNOTE.Z1NOTES") {
            try $0.edit("Note", 1, "notesOfBookID", .null)
        },
        Loss("one link of several is gone", "Z_1TAGS") { scene in
            try scene.edit("Book", 1, "tagsIDs", .links([try scene.id("Tag", 1)]))
        },
        Loss("all links of a record are gone", "Z_1TAGS") { try $0.edit("Book", 2, "tagsIDs", .links([])) },
        Loss("the only link of a relationship is gone", "Z_1SEQUELS") { scene in
            for key: Int64 in [1, 2] {
                try scene.edit("Book", key) { description, values in
                    for name in ["sequelsIDs", "prequelsIDs"] {
                        if let place = description.position(of: name) { values[place] = .links([]) }
                    }
                }
            }
        },
        Loss("a link leads to another record", "Z_1TAGS") { scene in
            try scene.edit("Book", 2, "tagsIDs", .links([try scene.id("Tag", 1)]))
        },
    ]

    private static let beside: [Loss] = [
        Loss("a column that the model does not know is not kept", "ZPAGE.ZFORGOTTEN") {
            try $0.drop(".unmapped.jsonl", "ZFORGOTTEN")
        },
        Loss("one value of such a column is not kept", "ZPAGE.ZFORGOTTEN") { try $0.drop(".unmapped.jsonl", "page 9") },
        Loss("a value that is kept is another one", "ZPAGE.ZFORGOTTEN") {
            try $0.rewrite(".unmapped.jsonl") { $0.replacingOccurrences(of: "page 9", with: "page 8") }
        },
        Loss("a row of no entity is not kept", "ZTAG.ZNAME") { try $0.drop(".unmapped.jsonl", "of no entity of") },
        Loss("a link from nowhere is not kept", "Z_1TAGS") { try $0.drop(".unmapped.jsonl", "Z_1BOOKS") },
        Loss("a value of another type is not kept", "ZPAGE.ZNUMBER") { try $0.drop(".unmapped.jsonl", "\"ten\"") },
        Loss("the bytes of a text that is not UTF-8 are not kept", "ZTAG.ZNAME") {
            try $0.drop(".unmapped.jsonl", "no UTF-8")
        },
        Loss("the attachment is gone", "ZPAGE.ZFORGOTTEN") {
            try FileManager.default.removeItem(atPath: $0.target.path + ".unmapped.jsonl")
        },
        Loss("a table that is not read is not named", "notes") { scene in
            try scene.rewrite(".import.json") { $0.replacingOccurrences(of: "\"notes\"", with: "\"other\"") }
        },
        Loss("a table is named with fewer rows than it has", "ANSCKEVENT") { scene in
            try scene.rewrite(".import.json") { $0.replacingOccurrences(of: "\"count\" : 2", with: "\"count\" : 1") }
        },
        Loss("the statement is gone", "ANSCKEVENT") {
            try FileManager.default.removeItem(atPath: $0.target.path + ".import.json")
        },
        Loss("what the app noted in the metadata is not named", "Z_METADATA.Z_PLIST") {
            try FileManager.default.removeItem(atPath: $0.target.path + ".import.json")
        },
    ]

    private static let source: [Loss] = [
        Loss("a record came later", "ZNOTE.Z_PK") {
            try $0.fixture.sql("INSERT INTO ZNOTE VALUES (2, 3, 1, 1, 'new')")
        },
        Loss("a value came later", "ZNOTE.ZTEXT") { try $0.fixture.sql("UPDATE ZNOTE SET ZTEXT = 'returned'") },
        Loss("a link came later", "Z_1TAGS") { try $0.fixture.sql("INSERT INTO Z_1TAGS VALUES (2, 1)") },
        Loss("a column came later", "ZNOTE.ZCOLOUR") {
            try $0.fixture.sql("ALTER TABLE ZNOTE ADD COLUMN ZCOLOUR VARCHAR; UPDATE ZNOTE SET ZCOLOUR = 'red'")
        },
        Loss("a table came later", "ZLATER") {
            try $0.fixture.sql(
                "CREATE TABLE ZLATER (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER); INSERT INTO ZLATER VALUES (1, 9)"
            )
        },
        Loss("a transaction of the history was not carried", "ATRANSACTION.Z_PK") {
            try $0.fixture.sql("INSERT INTO ATRANSACTION (Z_PK, ZTIMESTAMP, ZAUTHORTS) VALUES (4, 5, 2)")
        },
        Loss("a change of the history was not carried", "ACHANGE.ZENTITYPK") {
            try $0.fixture.sql(
                "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES (12, 16001, 1, 3, 1, 2)"
            )
        },
        Loss("a transaction has another author", "ATRANSACTION.Z_PK") {
            try $0.fixture.sql("UPDATE ATRANSACTIONSTRING SET ZNAME = 'nobody' WHERE Z_PK = 2")
        },
        Loss("a tombstone is not carried", "ACHANGE.ZENTITYPK") {
            try $0.fixture.sql("UPDATE ACHANGE SET ZTOMBSTONE0 = x'0102' WHERE Z_PK = 11")
        },
        Loss("two columns have the same values, and one is not carried", "ZBOOK.Z") { scene in
            try scene.fixture.sql("UPDATE ZBOOK SET ZLINK = ZTITLE")
            for key: Int64 in [1, 2] { try scene.edit("Book", key, "link", .null) }
        },
    ]

    @Test(arguments: TargetEngine.onDisk)
    func withoutALossEverythingIsAccountedFor(_ engine: TargetEngine) throws {
        let scene = try PlantedScene(engine)
        let account = try scene.account()
        #expect(account.unaccounted.isEmpty, "\(account.unaccounted.map(\.message))")
        let places = Dictionary(
            account.items.compactMap { item in item.place.map { ("\(item.table).\(item.column ?? "")", $0) } },
            uniquingKeysWith: { first, _ in first }
        )
        #expect(places["ZBOOK.ZTITLE"] == "Book.title")
        #expect(places["ZPAGE.ZBOOK"] == "Page.bookID")
        #expect(places["ZPAGE.Z_FOK_BOOK"] == "Page.bookOrder")
        #expect(places["Z_1TAGS."] == "Book.tagsIDs")
        #expect(account.items.first { $0.column == "ZFORGOTTEN" }?.kept == 3)
    }

    @Test func thereAreTwentyFiveWaysAndMore() { #expect(Self.losses.count >= 25) }

    @Test(arguments: losses)
    func aLossIsFoundWhereItIs(_ loss: Loss) throws {
        let scene = try PlantedScene()
        try loss.plant(scene)
        let found = try scene.account().unaccounted.map {
            [$0.table, $0.column].compactMap { $0 }.joined(separator: ".")
        }
        #expect(found.contains { $0.hasPrefix(loss.place) }, "\(loss.name): found \(found)")
    }

    /// The import's behavior before it knew stand-ins for inherited properties: the plan lacks them, and nothing is kept.
    @Test func attributesThatThePlanForgotAreFoundWithoutThePlan() throws {
        let scene = try PlantedScene()
        try scene.edit("Book", 2) { description, values in
            for name in ["title", "price", "published", "cover"] {
                values[try #require(description.position(of: name))] = .null
            }
        }
        let found = Set(try scene.account().unaccounted.compactMap(\.column))
        #expect(found.isSuperset(of: ["ZTITLE", "ZPRICE", "ZPUBLISHED", "ZCOVER"]))
    }
}
