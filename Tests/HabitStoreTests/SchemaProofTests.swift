import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@Suite("Schemas")
struct SchemaProofTests {
    @Test func theSchemaThatShipsIsSound() throws { try HabitSchema.current.validate() }

    /// Two attributes of one kind that are exchanged both in reading and in writing would be stored under each other's name, and no round trip would
    /// reveal it.
    @Test func exchangedAttributesAreFound() {
        expectRefusal(Schema([ExchangedTexts.self]), naming: "a")
        // Booleans have only two samples, and are two positions apart.
        expectRefusal(Schema([ExchangedFlags.self]), naming: "a")
    }

    @Test func relationshipsThatDoNotMeetAreFound() {
        expectRefusal(Schema([Entry.self]), naming: "Habit")
        expectRefusal(Schema([Habit.self, Entry.self]), naming: "Tag")
        expectRefusal(Schema([Draft.self, Draft.self]), naming: "Draft")
    }

    @Test func aShapeHasANameThatChangesWithIt() {
        let hashes = HabitSchema.current.entities.indices.map { HabitSchema.current.shapeHash(ofEntity: $0) }
        #expect(Set(hashes).count == hashes.count)
        #expect(hashes.allSatisfy { $0.count == 16 })
        #expect(Schema([Draft.self]).shapeHash(ofEntity: 0) == hashes[3])
    }

    @Test func entitiesAreFoundByNameInAnyCase() throws {
        #expect(try HabitSchema.current.position(ofEntity: "entry") == 1)
        let error = #expect(throws: HabitStoreError.self) { try HabitSchema.current.position(ofEntity: "Nothing") }
        #expect(error?.code == .unknownEntity)
        #expect(error?.message.contains("Habit, Entry, Tag, Draft") == true)
    }

    @Test func indexesAreDeclaredByAttributesOnly() {
        let indexes = [IndexDescription("habitID", "date").clustering(), IndexDescription("date")]
        #expect(Entry.entity.indexes == indexes)
        expectRefusal(Schema([IndexedByLength.self]), naming: "an index of IndexedByLength")
    }

    private func expectRefusal(_ schema: Schema, naming name: String) {
        let error = #expect(throws: HabitStoreError.self) { try schema.validate() }
        #expect(error?.code == .schemaMismatch)
        #expect(error?.message.contains(name) == true, "\(String(describing: error))")
        #expect(throws: HabitStoreError.self) { try InMemoryHabitStore(schema: schema) }
    }
}

private struct ExchangedTexts: PersistentModel {
    var id = UUID()
    var a = ""
    var b = ""

    static let entity = EntityDescription(
        ExchangedTexts.self,
        attributes: [
            .id(\ExchangedTexts.id), .attribute("a", \ExchangedTexts.a), .attribute("b", \ExchangedTexts.b),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        b = try row.nextString()
        a = try row.nextString()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(b)
        row.append(a)
    }
}

private struct ExchangedFlags: PersistentModel {
    var id = UUID()
    var a = false
    var b = false
    var c = false

    static let entity = EntityDescription(
        ExchangedFlags.self,
        attributes: [
            .id(\ExchangedFlags.id), .attribute("a", \ExchangedFlags.a), .attribute("b", \ExchangedFlags.b),
            .attribute("c", \ExchangedFlags.c),
        ]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        c = try row.nextBool()
        b = try row.nextBool()
        a = try row.nextBool()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(c)
        row.append(b)
        row.append(a)
    }
}

private struct IndexedByLength: PersistentModel {
    var id = UUID()
    var a = ""

    static let entity = EntityDescription(
        IndexedByLength.self,
        attributes: [.id(\IndexedByLength.id), .attribute("a", \IndexedByLength.a)],
        indexes: [.index(\IndexedByLength.a.count)]
    )

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        a = try row.nextString()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(a)
    }
}
