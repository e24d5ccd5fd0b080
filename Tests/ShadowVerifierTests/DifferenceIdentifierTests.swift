import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import ShadowVerifier

/// A difference has one identifier, whenever and wherever it is found.
struct DifferenceIdentifierTests {
    private func difference(
        _ kind: StoreDifference.Kind = .attribute,
        entity: String? = "Habit",
        id: UUID? = StorePair.id(2),
        attribute: String? = "name",
        subject: String? = nil
    ) -> StoreDifference {
        StoreDifference(kind, "it differs", entity: entity, id: id, attribute: attribute, subject: subject)
    }

    /// Pins the format: later versions must find an identifier that someone wrote down.
    @Test func anIdentifierIsTheSameInEveryVersion() {
        #expect(difference().differenceID == "240346aed9d8")
    }

    @Test func valuesAndSentencesDoNotNameADifference() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Habit", StorePair.id(2), ["name": .string("Secret")])
        let first = try pair.verify().differences.map(\.differenceID)
        try StorePair.plant(pair.b, "Habit", StorePair.id(2), ["name": .string("Another")])
        let second = try pair.verify { $0.showsValues = true }
        #expect(second.differences.map(\.differenceID) == first)
        #expect(first == [difference().differenceID])
    }

    @Test func whateverNamesAPlaceChangesTheIdentifier() {
        let all = [
            difference(), difference(.dangling), difference(entity: "Entry"), difference(id: StorePair.id(3)),
            difference(attribute: "unit"), difference(subject: "A"), difference(entity: nil), difference(id: nil),
            // The same text, but divided differently.
            difference(entity: "Habi", attribute: "tname"), difference(entity: "Habitn", attribute: "ame"),
        ]
        #expect(Set(all.map(\.differenceID)).count == all.count)
        #expect(all.allSatisfy { $0.differenceID.count == StoreDifference.identifierLength })
    }

    @Test func theRecordAtWhichAnswersBeginToDifferDoesNotNameTheDifference() {
        let first = StoreDifference(.queryOrder, "", entity: "Habit", id: StorePair.id(2), query: "all")
        let second = StoreDifference(.queryOrder, "", entity: "Habit", id: StorePair.id(3), query: "all")
        #expect(first.differenceID == second.differenceID)
    }

    @Test func differencesOfTheSamePlaceAreNumbered() throws {
        let pair = try StorePair()
        let findings = (0..<3).map { StoreFinding(.damage, "page", "page \($0) is broken", entity: "Entry") }
        let liar = LyingStore(pair.b, findings: findings)
        func identifiers() throws -> [String] {
            try ShadowVerifier(.init(name: "A", store: pair.a), .init(name: "B", store: liar)).run().differences
                .map(\.differenceID)
        }
        let found = try identifiers()
        #expect(Set(found).count == 3)
        #expect(try identifiers() == found)
    }
}
