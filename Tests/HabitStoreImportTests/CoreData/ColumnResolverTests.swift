import Foundation
import Testing

@testable import HabitStoreImport

/// Two attributes with the same name in one table have columns that differ only in a number. A reader that uses the plain name for a record's own
/// attribute gives another person's identity to 127 of 416 records of a SwiftData file.
@Suite struct ColumnResolverTests {
    private static let author = FixtureModel.Attribute(
        name: "author",
        type: 2_100,
        elements: [.init(name: "id", type: 1_100), .init(name: "name", type: 700)]
    )

    private func cocktail(_ attributes: [FixtureModel.Attribute], unique: Bool, rows: String) throws -> CoreDataFixture
    {
        let fixture = try CoreDataFixture()
        try fixture.metadata()
        try fixture.model(
            FixtureModel(entities: [.init(name: "Cocktail", attributes: attributes, unique: unique ? [["id"]] : [])])
        )
        try fixture.entities([(1, "Cocktail", 0, 3)])
        try fixture.sql(
            "CREATE TABLE ZCOCKTAIL (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, ZID BLOB, ZID1 BLOB)"
        )
        try fixture.sql(rows)
        fixture.close()
        return fixture
    }

    private let one = "x'0102030405060708090A0B0C0D0E0F10'"
    private let two = "x'F102030405060708090A0B0C0D0E0F10'"

    @Test func aCompositeBeforeTheOwnNameHasThePlainColumn() throws {
        let fixture = try cocktail(
            [Self.author, .init(name: "id", type: 1_100, isOptional: false)],
            unique: false,
            rows: "INSERT INTO ZCOCKTAIL VALUES (1, 1, 1, 'Ada', NULL, \(one)), (2, 1, 1, NULL, \(one), \(two))"
        )
        let file = try CoreDataFile(path: fixture.path)
        let entity = try #require(file.model.entity("Cocktail"))
        #expect(entity.attribute("id")?.column == "ZID1")
        #expect(entity.attribute("author.id")?.column == "ZID")
        #expect(entity.attribute("author.name")?.column == "ZNAME")
        #expect(file.oddities.isEmpty, "\(file.oddities)")
    }

    @Test func aUniqueIndexProvesWhoseColumnItIs() throws {
        let fixture = try cocktail(
            [Self.author, .init(name: "id", type: 1_100)],
            unique: true,
            rows: """
                CREATE UNIQUE INDEX Z_Cocktail_UNIQUE_id ON ZCOCKTAIL (ZID COLLATE BINARY ASC);
                INSERT INTO ZCOCKTAIL VALUES (1, 1, 1, NULL, \(one), \(two))
                """
        )
        let file = try CoreDataFile(path: fixture.path)
        #expect(file.model.entity("Cocktail")?.attribute("id")?.column == "ZID")
        #expect(file.oddities.isEmpty, "\(file.oddities)")
    }

    @Test func whatNothingProvesIsCalledUncertain() throws {
        let fixture = try cocktail(
            [Self.author, .init(name: "id", type: 1_100)],
            unique: false,
            rows: "INSERT INTO ZCOCKTAIL VALUES (1, 1, 1, 'Ada', \(one), \(two))"
        )
        let file = try CoreDataFile(path: fixture.path)
        #expect(file.model.entity("Cocktail")?.attribute("id")?.column == "ZID1")
        #expect(file.oddities.map(\.kind) == ["columnUncertain"])
        #expect(file.oddities.first?.message.contains("Cocktail.author.id, Cocktail.id") == true)
    }

    @Test func siblingsColumnsAreToldApartByTheirRecords() throws {
        let fixture = try CoreDataFixture()
        try fixture.metadata()
        try fixture.model(
            FixtureModel(entities: [
                .init(name: "Base", isAbstract: true),
                .init(name: "Alpha", parent: "Base", attributes: [.init(name: "created", type: 900)]),
                .init(name: "Beta", parent: "Base", attributes: [.init(name: "created", type: 900)]),
                .init(name: "Gamma", parent: "Base", attributes: [.init(name: "created", type: 700)]),
            ])
        )
        try fixture.entities([(1, "Base", 0, 3), (2, "Alpha", 1, 0), (3, "Beta", 1, 0), (4, "Gamma", 1, 0)])
        // Not by the rule: the dates of this file are swapped, as its records show.
        try fixture.sql(
            """
            CREATE TABLE ZBASE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCREATED TIMESTAMP,
              ZCREATED1 TIMESTAMP, ZCREATED2 VARCHAR);
            INSERT INTO ZBASE VALUES (1, 3, 1, 5, NULL, NULL), (2, 2, 1, NULL, 6.5, NULL), (3, 4, 1, NULL, NULL, 'x');
            """
        )
        let file = try CoreDataFile(path: fixture.path)
        #expect(file.model.entity("Alpha")?.attribute("created")?.column == "ZCREATED1")
        #expect(file.model.entity("Beta")?.attribute("created")?.column == "ZCREATED")
        #expect(file.model.entity("Gamma")?.attribute("created")?.column == "ZCREATED2")
        #expect(file.oddities.isEmpty, "\(file.oddities)")
    }
}
