import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@Suite("The schema that a store has written down")
struct SchemaDifferenceTests {
    private let declared = StoredSchema(HabitSchema.current)

    @Test func itIsReadAsItWasWritten() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = try encoder.encode(declared)
        #expect(try JSONDecoder().decode(StoredSchema.self, from: text) == declared)
        #expect(StoredSchema(Schema(shapes: declared.entities, version: declared.version)) == declared)
    }

    @Test func aSchemaWithoutSwiftTypesIsSoundAndHasTheSameHashes() throws {
        let untyped = Schema(shapes: declared.entities, version: declared.version)
        try untyped.validate()
        for position in declared.entities.indices {
            #expect(untyped.shapeHash(ofEntity: position) == HabitSchema.current.shapeHash(ofEntity: position))
        }
        #expect(throws: HabitStoreError.self) { try untyped.position(of: Habit.self) }
    }

    @Test func equalSchemasDoNotDiffer() {
        #expect(declared.differences(from: declared).isEmpty)
    }

    @Test func indexesAndDefaultsAreNoPartOfAShape() {
        var stored = declared
        stored.entities[1].indexes = []
        stored.entities[0].attributes[1].preservesValueOnDeletion.toggle()
        stored.entities[0].attributes[3].defaultValue = .int(3)
        #expect(stored.differences(from: declared).isEmpty)
    }

    @Test func eachDifferenceIsNamed() {
        expect("Habit.category may not be nil in the store and may as declared", "Habit", "category") {
            $0.entities[0].attributes[4].isOptional = false
        }
        expect("Habit.streak is of kind string in the store and declared as int", "Habit", "streak") {
            $0.entities[0].attributes[3].kind = .string
        }
        expect("Tag.name is not unique in the store and is as declared", "Tag", "name") {
            $0.entities[2].attributes[1].isUnique = false
        }
        expect("the delete rule of Habit.entries is deny in the store and cascade as declared", "Habit", "entries") {
            $0.entities[0].relationships[0].deleteRule = .deny
        }
        expect("the inverse of Entry.habit is none in the store and entries as declared", "Entry", "habit") {
            $0.entities[1].relationships[0].inverse = nil
        }
        expect("the store has no attribute Draft.content", "Draft", "content") {
            $0.entities[3].attributes.remove(at: 1)
        }
        expect("the store has no relationship Tag.habits", "Tag", "habits") { $0.entities[2].relationships = [] }
        expect("the store has an attribute Draft.title, which is not declared", "Draft", "title") {
            $0.entities[3].attributes.append(AttributeShape(name: "title", kind: .string))
        }
        expect("the store has no entity Tag", "Tag", nil) { $0.entities.remove(at: 2) }
        expect("the store has an entity Mood, which is not declared", "Mood", nil) {
            $0.entities.append(EntityShape(name: "Mood", attributes: [.id]))
        }
        expect(
            "the attributes of Draft are in another order in the store, from creationDate on",
            "Draft",
            "creationDate"
        ) {
            $0.entities[3].attributes.swapAt(1, 2)
        }
    }

    private func expect(
        _ description: String,
        _ entity: String,
        _ attribute: String?,
        _ change: (inout StoredSchema) -> Void
    ) {
        var stored = declared
        change(&stored)
        let differences = stored.differences(from: declared)
        #expect(
            differences == [SchemaDifference(entity: entity, attribute: attribute, description: description)],
            "\(differences)"
        )
    }

    @Test(arguments: [
        ("3.0.0", Schema.Version(3, 0, 0)), ("3", Schema.Version(3, 0, 0)), ("1.20", Schema.Version(1, 20, 0)),
        ("", nil), ("1.", nil), ("1.2.3.4", nil), ("-1.0.0", nil), ("v3", nil), ("1..2", nil),
    ])
    func aVersionIsThreeNumbers(text: String, version: Schema.Version?) {
        #expect(Schema.Version(parsing: text) == version)
    }

    @Test func versionsAreOrderedByTheirNumbers() {
        let versions = [Schema.Version(1, 9, 9), .init(1, 10, 0), .init(2, 0, 0), .init(2, 0, 1)]
        #expect(versions.shuffled().sorted() == versions)
    }

    @Test func aDefaultThatNoStoreCanKeepIsRefused() {
        let error = #expect(throws: HabitStoreError.self) { try Schema([NotANumber.self]).validate() }
        #expect(error?.location.attribute == "weight")
    }
}

private struct NotANumber: PersistentModel {
    var id = UUID()
    var weight = 0.0

    static let entity = EntityDescription(
        NotANumber.self,
        attributes: [.id(\NotANumber.id), .attribute("weight", \NotANumber.weight, default: .nan)]
    )

    init(row: inout AttributeReader) throws { (id, weight) = (try row.nextUUID(), try row.nextDouble()) }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        try row.append(weight)
    }
}
