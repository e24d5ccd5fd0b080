import Foundation
import Testing

@testable import HabitStore

/// SQLite accepted an index of 27 texts and LMDB and PostgreSQL refused it, so its users could not be moved.
@Suite("How many attributes an index can have")
struct IndexKeyRoomTests {
    @Test func whatFitsIsTaken() throws { try Self.schema(texts: 26).validate() }

    @Test func oneMoreIsRefusedWhereTheSchemaIsMade() {
        let error = #expect(throws: HabitStoreError.self) { try Self.schema(texts: 27).validate() }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.location.entity == "Card")
        #expect(error?.message.contains("it can have 55 numbers and dates, 29 identifiers or 26 texts") == true)
    }

    /// The limits that the error names.
    @Test(arguments: [(AttributeKind.int, 55), (.date, 55), (.uuid, 29), (.string, 26), (.data, 26)])
    func theFiguresAreTheLimits(_ kind: AttributeKind, _ most: Int) {
        #expect(IndexKeyRoom.textBudget(Array(repeating: kind, count: most)) != nil)
        #expect(IndexKeyRoom.textBudget(Array(repeating: kind, count: most + 1)) == nil)
    }

    private static func schema(texts: Int) -> Schema { Card.$texts.withValue(texts) { Schema([Card.self]) } }
}

/// A card with an index over as many texts as a test needs.
private struct Card: PersistentModel {
    @TaskLocal static var texts = 0

    var id = UUID()
    var texts = Array(repeating: "", count: 40)

    static var entity: EntityDescription {
        EntityDescription(
            Card.self,
            attributes: [.id(\Card.id)] + (0..<40).map { .attribute("text\($0)", \Card.texts[$0]) },
            indexes: [IndexDescription(attributes: (0..<texts).map { "text\($0)" })]
        )
    }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        texts = try (0..<40).map { _ in try row.nextString() }
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        for text in texts { row.append(text) }
    }
}
