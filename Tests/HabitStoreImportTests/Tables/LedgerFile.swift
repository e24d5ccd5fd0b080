import Foundation
import HabitStoreTesting
import RawStoreFiles
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreImport

/// A file as an app with GRDB would have it: accounts in a tree, bookings, labels, and what libraries keep for themselves.
struct LedgerFile {
    static let schema = Schema(shapes: [
        EntityShape(
            name: "Account",
            attributes: [
                AttributeShape(name: "id", kind: .uuid, isUnique: true), AttributeShape(name: "title", kind: .string),
                AttributeShape(name: "openedAt", kind: .date, isOptional: true),
                AttributeShape(name: "isHidden", kind: .bool),
                AttributeShape(name: "parentID", kind: .uuid, isOptional: true),
            ],
            relationships: [
                RelationshipShape(name: "parent", kind: .toOne, attribute: "parentID", destination: "Account")
            ]
        ),
        EntityShape(
            name: "Booking",
            attributes: [
                AttributeShape(name: "id", kind: .uuid, isUnique: true), AttributeShape(name: "amount", kind: .int),
                AttributeShape(name: "day", kind: .date), AttributeShape(name: "note", kind: .string, isOptional: true),
                AttributeShape(name: "rate", kind: .double, isOptional: true),
                AttributeShape(name: "accountID", kind: .uuid, isOptional: true),
                AttributeShape(name: "labelIDs", kind: .links),
            ],
            relationships: [
                RelationshipShape(name: "account", kind: .toOne, attribute: "accountID", destination: "Account"),
                RelationshipShape(
                    name: "labels",
                    kind: .manyToManyOwner,
                    attribute: "labelIDs",
                    destination: "Label",
                    inverse: "bookings"
                ),
            ]
        ),
        EntityShape(
            name: "Label",
            attributes: [
                AttributeShape(name: "id", kind: .uuid, isUnique: true), AttributeShape(name: "name", kind: .string),
                AttributeShape(name: "color", kind: .string, isOptional: true),
            ],
            relationships: [
                RelationshipShape(name: "bookings", kind: .manyToManyInverse, destination: "Booking", inverse: "labels")
            ]
        ),
    ])

    static let tables = """
        CREATE TABLE account (id INTEGER PRIMARY KEY, title TEXT NOT NULL, openedAt TEXT, isHidden INTEGER NOT NULL,
            parent_id INTEGER REFERENCES account);
        CREATE TABLE booking (uid TEXT PRIMARY KEY NOT NULL, amount INTEGER NOT NULL, day INTEGER NOT NULL, note TEXT, rate REAL,
            account_id INTEGER REFERENCES account(id));
        CREATE TABLE label (code TEXT NOT NULL, region INTEGER NOT NULL, name TEXT, color TEXT, PRIMARY KEY (code, region)) WITHOUT ROWID;
        CREATE TABLE booking_label (booking TEXT REFERENCES booking, code TEXT, region INTEGER, PRIMARY KEY (booking, code, region),
            FOREIGN KEY (code, region) REFERENCES label);
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        CREATE VIEW total AS SELECT sum(amount) FROM booking;
        CREATE VIRTUAL TABLE search USING fts5(note, content='booking');
        """

    static let rows = """
        INSERT INTO account VALUES (1, 'Everything', '2019-05-01 08:00:00.250', 0, NULL), (2, 'Cash', NULL, 1, 1), (3, 'Lost', NULL, 0, 9);
        INSERT INTO booking VALUES
            ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 100, 1700000000, 'bread', 1.5, 2),
            ('6ba7b811-9dad-11d1-80b4-00c04fd430c8', -7, 1700086400, NULL, NULL, NULL);
        INSERT INTO label VALUES ('food', 1, 'Food', NULL), ('food', 2, 'Essen', 'red');
        INSERT INTO booking_label VALUES ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'food', 1),
            ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'food', 2);
        """

    static let mapping = """
        {"format": 2, "namespace": "ledger", "tables": [
          {"table": "account", "entity": "Account",
           "attributes": {"title": "title", "openedAt": {"column": "openedAt", "form": "date grdb"}, "isHidden": "isHidden"},
           "relationships": {"parent": "parent_id"}},
          {"table": "booking", "entity": "Booking", "key": {"column": "uid", "form": "uuid lowercase"},
           "attributes": {"amount": "amount", "day": {"column": "day", "form": "seconds 1970"}, "note": "note", "rate": "rate"},
           "relationships": {"account": "account_id"},
           "links": {"labels": {"table": "booking_label", "here": "booking", "there": ["code", "region"]}}},
          {"table": "label", "entity": "Label", "attributes": {"name": "name", "color": "color"}},
          {"table": "grdb_migrations", "entity": null}
        ]}
        """

    let folder: TemporaryFolder
    let path: String

    /// - Parameter sql: statements after the tables and rows.
    init(_ sql: String = "") throws {
        folder = try TemporaryFolder()
        path = folder.path("ledger.sqlite")
        let database = try RawDatabase(path: path)
        try database.execute(Self.tables + Self.rows + sql)
        database.close()
    }

    func file() throws -> TableFile { try TableFile(path: path) }

    /// The mapping with texts exchanged, each of which it has.
    static func mapping(_ changes: (String, String)...) throws -> TableMapping {
        var text = mapping
        for (old, new) in changes {
            try #require(text.contains(old), "\(old)")
            text = text.replacingOccurrences(of: old, with: new)
        }
        return try TableMapping(parsing: Data(text.utf8))
    }
}
