import Foundation
import HabitStore
import Testing

/// Declarations that compiled, were accepted, and then did not do what they say. All of them are refused when the schema is made.
@Suite("Schemas that are refused")
struct SchemaTrapTests {
    /// An app's `owner` led to "Shelf" through a property of type `Book?`. It compiled, and always read nil.
    @Test func aRelationshipIsOfTheTypeOfItsDestination() {
        expectRefusal(.ofAnotherType, "owner", saying: "make it a Optional<TrapShelf>")
        expectRefusal(.manyOfAnotherType, "books", saying: "make it a Array<TrapBook>")
    }

    /// An amount's probe gave the same value for every position, and two attributes of the type were exchanged in both directions: what was stored as
    /// 1 and 2 was read as 2 and 1, and nothing could detect it.
    @Test func attributesThatNoSampleTellsApartAreRefused() {
        expectRefusal(of: Schema([TrapPurse.self]), "second", saying: "another value for each position")
    }

    /// Optional attributes are distinguished by their nils, whatever their type's samples are.
    @Test func optionalAttributesAreProvenByTheirNils() throws {
        try Schema([TrapWallet.self]).validate()
        let exchanged = TrapWallet.$exchanges.withValue(true) { Schema([TrapWallet.self]) }
        expectRefusal(of: exchanged, "first", saying: "does not read first at its declared position")
    }

    @Test func aTypeOfOneValueMayStandTwice() throws { try Schema([TrapLonely.self]).validate() }

    /// `.id(\.serial)` was accepted, and records were stored under another identifier than the model's.
    @Test func theIdentifierIsTheModelsOwn() {
        expectRefusal(.anotherIdentifier, "id", saying: "declare .id(\\.id)")
    }

    /// A predicate over the property would have used the attribute that was declared last.
    @Test func aPropertyIsDeclaredOnce() { expectRefusal(.propertyTwice, "heading", saying: "the same key path") }

    @Test func aPropertyOfAnotherModelIsRefused() {
        expectRefusal(.propertyOfAnother, "title", saying: "a key path of TrapShelf")
    }

    @Test func anEntityOfAnotherModelIsRefused() {
        let message = "the entity of the model TrapCopy is that of TrapShelf"
        expectRefusal(of: Schema([TrapCopy.self, TrapBook.self]), nil, saying: message)
    }

    @Test func aRelationshipHasAnAttributeOfItsOwn() {
        expectRefusal(.storedInIdentifier, "owner", saying: "stored in the identifier")
        expectRefusal(.storedTwice, "keeper", saying: "and so is owner")
    }

    @Test func listsAreNotUnique() {
        expectRefusal(.uniqueLinks, "links", saying: "cannot be unique")
        expectRefusal(.uniqueWords, "words", saying: "cannot be unique")
    }

    @Test func linksAreNotOptional() { expectRefusal(.optionalLinks, "maybeLinks", saying: "declare a Set<UUID>") }

    @Test func anIndexIsOneOfWhatEveryEngineCanKeep() {
        expectRefusal(.indexedTwice, "title", saying: "names title twice")
        expectRefusal(.indexOfNothing, nil, saying: "names no attributes")
        expectRefusal(.indexOfWords, "words", saying: "list of texts")
        expectRefusal(.indexOfTwoLinks, "moreLinks", saying: "two attributes of links")
    }

    /// A model is `Codable`, and was stored as a copy, which later changes of the record did not reach.
    @Test func aModelIsNoAttribute() {
        expectRefusal(.copiedModel, "shelf", saying: "copies of TrapShelf")
        expectRefusal(.copiedModels, "shelves", saying: "copies of TrapShelf")
    }

    /// The index was built and maintained, and no query could use it.
    @Test func whatIsKeptAsJSONIsNotIndexed() { expectRefusal(.indexOfJSON, "note", saying: "kept as JSON") }

    /// Two sets of the same texts, a text in its two Unicode forms, 0.0 and -0.0: each was stored twice.
    @Test func whatIsKeptAsJSONIsNotUnique() {
        expectRefusal(.uniqueJSON, "note", saying: "kept as JSON, which can differ where values are equal")
        expectRefusal(.uniqueWrapper, "remark", saying: "kept as JSON, which can differ where values are equal")
        expectRefusal(.uniqueCombination, "note", saying: "cannot be unique, alone or in a combination")
    }

    /// `.some(nil)` was read back as nil.
    @Test func anAttributeIsOptionalOnce() {
        expectRefusal(.optionalTwice, "rank", saying: "declare it optional once")
        expectRefusal(.optionalJSONTwice, "remarks", saying: "declare it optional once")
    }

    @Test func theModelsAreSoundAsTheyAre() throws { try Schema([TrapBook.self, TrapShelf.self]).validate() }

    private func expectRefusal(
        _ variant: TrapBook.Variant,
        _ attribute: String?,
        saying text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let schema = TrapBook.$variant.withValue(variant) { Schema([TrapBook.self, TrapShelf.self]) }
        expectRefusal(of: schema, attribute, saying: text, sourceLocation: sourceLocation)
    }

    private func expectRefusal(
        of schema: Schema,
        _ attribute: String?,
        saying text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: HabitStoreError.self, sourceLocation: sourceLocation) { try schema.validate() }
        #expect(error?.code == .schemaMismatch, sourceLocation: sourceLocation)
        #expect(error?.location.entity != nil, sourceLocation: sourceLocation)
        #expect(error?.location.attribute == attribute, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(error?.message.contains(text) == true, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(throws: HabitStoreError.self) { try InMemoryHabitStore(schema: schema) }
    }
}
