import Foundation

extension CoreDataFixture {
    /// A library: books with inheritance, ordered pages, tags in both directions, and notes without an inverse.
    static let libraryModel = FixtureModel(entities: [
        .init(
            name: "Book",
            attributes: [
                .init(name: "isbn", type: 1_100, isOptional: false), .init(name: "price", type: 400),
                .init(name: "published", type: 900), .init(name: "title", type: 700, isOptional: false),
                .init(name: "cover", type: 1_800), .init(name: "link", type: 1_200),
                .init(name: "cached", type: 700, isTransient: true),
            ],
            relationships: [
                .init(name: "pages", destination: "Page", inverse: "book", isToMany: true, isOrdered: true),
                .init(name: "tags", destination: "Tag", inverse: "books", isToMany: true),
                .init(name: "notes", destination: "Note", inverse: nil, isToMany: true),
                .init(name: "sequels", destination: "Book", inverse: "prequels", isToMany: true),
                .init(name: "prequels", destination: "Book", inverse: "sequels", isToMany: true),
            ],
            unique: [["isbn"]]
        ),
        .init(
            name: "Comic",
            parent: "Book",
            attributes: [.init(name: "isColoured", type: 800, isOptional: false, defaultValue: .bool(false))]
        ),
        .init(name: "Note", attributes: [.init(name: "text", type: 700)]),
        .init(
            name: "Page",
            attributes: [.init(name: "number", type: 200)],
            relationships: [.init(name: "book", destination: "Book", inverse: "pages")]
        ),
        .init(
            name: "Tag",
            attributes: [.init(name: "name", type: 700)],
            relationships: [.init(name: "books", destination: "Book", inverse: "tags", isToMany: true)]
        ),
    ])

    /// A file with the library and its history.
    static func library(history: Bool = true) throws -> CoreDataFixture {
        let fixture = try CoreDataFixture()
        try fixture.writeLibrary()
        if history { try fixture.writeHistory() }
        return fixture
    }

    /// Two books, one of them a comic, three pages, two tags and a note.
    func writeLibrary() throws {
        try metadata()
        try model(Self.libraryModel)
        try entities([
            (1, "Book", 0, 2), (2, "Comic", 1, 0), (3, "Note", 0, 1), (4, "Page", 0, 9), (5, "Tag", 0, 2),
        ])
        try sql(
            """
            CREATE TABLE ZBOOK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISCOLOURED INTEGER,
              ZPUBLISHED TIMESTAMP, ZPRICE DECIMAL, ZTITLE VARCHAR, ZLINK VARCHAR, ZISBN BLOB, ZCOVER BLOB);
            CREATE UNIQUE INDEX Z_Book_UNIQUE_isbn ON ZBOOK (ZISBN COLLATE BINARY ASC);
            CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, Z1NOTES INTEGER, ZTEXT VARCHAR);
            CREATE TABLE ZPAGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNUMBER INTEGER, ZBOOK INTEGER,
              Z1_BOOK INTEGER, Z_FOK_BOOK INTEGER);
            CREATE INDEX ZPAGE_ZBOOK_INDEX ON ZPAGE (ZBOOK);
            CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
            CREATE TABLE Z_1TAGS (Z_1BOOKS INTEGER, Z_5TAGS INTEGER, PRIMARY KEY (Z_1BOOKS, Z_5TAGS));
            CREATE TABLE Z_1SEQUELS (Z_1PREQUELS INTEGER, Z_1SEQUELS INTEGER, PRIMARY KEY (Z_1PREQUELS, Z_1SEQUELS));
            INSERT INTO ZBOOK VALUES (1, 1, 1, NULL, -2870596800, 9.99, 'Dune', 'https://example.org/1',
              x'AA84E164CAFB4AD89ACDEBB399FF372A', NULL);
            INSERT INTO ZBOOK VALUES (2, 2, 3, 1, 500.25, 3.3333333332999993, 'Dune II', NULL,
              x'BB84E164CAFB4AD89ACDEBB399FF372A', x'62706C6973743030');
            INSERT INTO ZNOTE VALUES (1, 3, 1, 2, 'borrowed');
            INSERT INTO ZPAGE VALUES (3, 4, 1, 30, 1, 1, 2048), (5, 4, 1, 10, 1, 1, 4096), (9, 4, 1, 20, 1, 1, 3072);
            INSERT INTO ZTAG VALUES (1, 5, 1, 'desert'), (2, 5, 1, 'worms');
            INSERT INTO Z_1TAGS VALUES (1, 1), (1, 2), (2, 2);
            INSERT INTO Z_1SEQUELS VALUES (1, 2);
            """
        )
    }

    /// The history of the library, in the newer layout: created by `app`, a book's title changed by `sync`, and a deleted page.
    func writeHistory() throws {
        try sql(
            """
            CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER,
              ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR,
              ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR);
            CREATE TABLE ATRANSACTIONSTRING (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
            CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
              ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB);
            INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 11), (16002, 'TRANSACTION', 0, 3),
              (16003, 'TRANSACTIONSTRING', 0, 2);
            INSERT INTO ATRANSACTIONSTRING VALUES (1, 16003, NULL, 'app'), (2, 16003, NULL, 'sync');
            INSERT INTO ATRANSACTION VALUES (1, 16002, NULL, 1, NULL, NULL, NULL, 700000000, NULL, NULL, NULL, NULL),
              (2, 16002, NULL, 2, NULL, NULL, NULL, 700000001.5, NULL, NULL, NULL, NULL),
              (3, 16002, NULL, 1, NULL, NULL, NULL, 700000002, NULL, NULL, NULL, NULL);
            INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES
              (1, 16001, 0, 1, 1, 1), (2, 16001, 0, 2, 2, 1), (3, 16001, 0, 3, 1, 1), (4, 16001, 0, 4, 3, 1),
              (5, 16001, 0, 4, 5, 1), (6, 16001, 0, 4, 9, 1), (7, 16001, 0, 5, 1, 1), (8, 16001, 0, 5, 2, 1),
              (9, 16001, 0, 4, 7, 1), (10, 16001, 1, 1, 1, 2), (11, 16001, 2, 4, 7, 3);
            """
        )
    }
}
