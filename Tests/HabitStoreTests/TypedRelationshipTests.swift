import Foundation
@_spi(Engines) import HabitStore
import Testing

/// Relationships declared by key paths equal those declared by names.
struct TypedRelationshipTests {
    private struct Page: PersistentModel {
        var id: UUID
        var bookID: UUID?
        var wordIDs: Set<UUID> = []

        var book: Book? { RelationshipScope.one(\Page.book, bookID) }
        var words: [Word] { RelationshipScope.linked(\Page.words, wordIDs) }

        static let entity = EntityDescription(
            Page.self,
            attributes: [.id(\Page.id), .attribute("bookID", \Page.bookID), .attribute("wordIDs", \Page.wordIDs)],
            relationships: [
                .toOne("book", \Page.book, through: \Page.bookID, inverse: \Book.pages),
                .manyToMany("words", \Page.words, through: \Page.wordIDs),
            ]
        )

        init(row: inout AttributeReader) throws {
            (id, bookID) = (try row.nextUUID(), try row.nextOptionalUUID())
            wordIDs = Set(try row.nextLinks())
        }

        func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(bookID)
            row.append(wordIDs)
        }
    }

    private struct Book: PersistentModel {
        var id: UUID
        var pages: [Page] { RelationshipScope.many(\Book.pages, of: id) }

        static let entity = EntityDescription(
            Book.self,
            name: "Volume",
            attributes: [.id(\Book.id)],
            relationships: [.toMany("pages", \Book.pages, inverse: \Page.book, deleteRule: .cascade)]
        )

        init(row: inout AttributeReader) throws { id = try row.nextUUID() }
        func write(to row: inout AttributeWriter) throws { row.append(id) }
    }

    private struct Word: PersistentModel {
        var id: UUID
        var pages: [Page] { RelationshipScope.many(\Word.pages, of: id) }

        static let entity = EntityDescription(
            Word.self,
            attributes: [.id(\Word.id)],
            relationships: [.manyToMany("pages", \Word.pages, inverse: \Page.words)]
        )

        init(row: inout AttributeReader) throws { id = try row.nextUUID() }
        func write(to row: inout AttributeWriter) throws { row.append(id) }
    }

    @Test func theyHaveTheNamesOfTheSchema() throws {
        let schema = Schema([Page.self, Book.self, Word.self])
        try schema.validate()
        let found = schema.entities.flatMap { entity in
            entity.relationships.map { "\(entity.name).\($0.name) \($0.kind) \($0.destination).\($0.inverse ?? "–")" }
        }
        #expect(
            found == [
                #"Page.book toOne(attribute: "bookID") Volume.pages"#,
                #"Page.words manyToManyOwner(attribute: "wordIDs") Word.pages"#, "Volume.pages toMany Page.book",
                "Word.pages manyToManyInverse Page.words",
            ]
        )
        #expect(schema.entities[0].indexes == [IndexDescription("wordIDs"), IndexDescription("bookID")])
    }

    @Test func aDestinationThatTheSchemaLacksIsNamed() {
        let error = #expect(throws: HabitStoreError.self) { try Schema([Page.self, Book.self]).validate() }
        #expect(error?.message.contains("Word, which the schema does not have") == true)
    }
}
