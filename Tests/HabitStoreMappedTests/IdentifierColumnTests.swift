import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreMapped
import HabitStoreSQLite
import HabitStoreTesting
import RawStoreFiles
import Testing

/// Rows that others refer to by a number, and whose identifiers are in another column.
struct IdentifierColumnTests {
    private static let one = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    private static let two = "6ba7b811-9dad-11d1-80b4-00c04fd430c8"

    private static let tables = """
        ; ALTER TABLE label ADD COLUMN uuid TEXT;
        UPDATE label SET uuid = iif(id = 1, '\(one)', '\(two)');
        CREATE UNIQUE INDEX label_uuid ON label (uuid);
        """

    private static let mapping = LedgerApp.mapping.replacing(
        #""entity": "Label","#,
        with: #""entity": "Label", "identifier": {"column": "uuid", "form": "uuid lowercase"},"#
    )

    private func id(_ text: String) throws -> UUID { try #require(UUID(uuidString: text)) }

    @Test func theMappingSaysItAgain() throws {
        let mapping = try TableMapping(parsing: Data(Self.mapping.utf8))
        #expect(mapping.tables[2].identifier == .init(column: "uuid", form: .uuid(isLowercase: true)))
        #expect(try TableMapping(parsing: Data(mapping.json().utf8)) == mapping)
    }

    @Test(arguments: [
        ("UPDATE label SET uuid = NULL WHERE id = 1", "no key that can be an identifier"),
        ("UPDATE label SET uuid = upper('\(two)') WHERE id = 1", "belong to more than one row"),
    ])
    func whatIsNoIdentifierIsFound(_ sql: String, _ words: String) throws {
        let app = try LedgerApp(Self.tables + sql, adopts: false, mapping: Self.mapping)
        let report = try app.mapping.check(try TableFile(path: app.path), schema: LedgerApp.schema)
        #expect(report.findings.contains { $0.message.contains(words) }, "\(report.findings.map(\.message))")
        #expect(errorCode { try app.adopt() } == .invalidValue)
    }

    /// The second reader would have looked for other identifiers of missing rows.
    @Test func theKeyIsNoOtherColumn() throws {
        let app = try LedgerApp(Self.tables, adopts: false, mapping: Self.mapping)
        var mapping = app.mapping
        mapping.tables[2].key = ["UUID"]
        let report = try mapping.check(try TableFile(path: app.path), schema: LedgerApp.schema)
        #expect(report.findings.contains { $0.message == "uuid is the key: give the key a form instead" })
    }

    @Test func anImportProvesThem() throws {
        let app = try LedgerApp(Self.tables, adopts: false, mapping: Self.mapping)
        let work = try TableImport(try TableFile(path: app.path), app.mapping, schema: LedgerApp.schema)
        let store = try SQLiteHabitStore(path: app.folder.path("new.sqlite"), schema: LedgerApp.schema, access: .create)
        defer { store.close() }
        let report = try work.fill(store, notes: app.folder.path("new.sqlite"))
        #expect(report.isVerified, "\(report.differences)")
        #expect(Set(try store.all(Label.self).map(\.id)) == [try id(Self.one), try id(Self.two)])
        #expect(try work.merge(into: store, notes: app.folder.path("new.sqlite")).merged?.unchanged == 8)
        let bread = try #require(try store.all(Booking.self).first { $0.note == "bread" })
        #expect(bread.labelIDs == [try id(Self.one), try id(Self.two)])
        // In place, only keys can be identifiers.
        #expect(errorCode { try app.adopt() } == .unsupported)
        try store.write { _ = try $0.delete(Label.self, id: try id(Self.one)) }
        #expect(try !work.verify(store).isVerified)
    }
}
