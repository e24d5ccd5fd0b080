import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import ShadowVerifier

/// Each kind of difference, planted and found as what it is.
struct DifferenceTests {
    private static let notes = QueryFile.Query(
        name: "notes",
        entity: "Entry",
        filter: "note != nil",
        sort: ["-date"]
    )

    @Test func equalStoresMatchInEveryLevel() throws {
        let report = try StorePair().verify { $0.queries = [Self.notes] }
        #expect(report.verdict == .match)
        #expect(report.differences.isEmpty)
        #expect(report.anomalies.isEmpty)
        #expect(report.a.counts == ["Habit": 2, "Entry": 10, "Tag": 1, "Draft": 1])
        #expect(report.a.counts == report.b.counts)
        let levels = ["store checks", "counts", "contents", "kept digests", "relationships", "history", "queries"]
        #expect(report.levels.map(\.name) == levels)
        #expect(report.levels.first { $0.name == "contents" }?.compared == 14)
        // Ten references of entries and one link, in two stores.
        #expect(report.levels.first { $0.name == "relationships" }?.compared == 22)
        #expect(report.queries.map(\.countA) == [5])
        #expect(report.queries.map(\.matches) == [true])
    }

    @Test func aStoreMatchesItself() throws {
        let pair = try StorePair()
        let side = ShadowVerifier.Side(name: "A", store: pair.a)
        #expect(try ShadowVerifier(side, side).run().verdict == .match)
    }

    @Test func twoEmptyStoresOfDifferentOriginMatch() throws {
        let report = try ShadowVerifier(
            .init(name: "A", store: try InMemoryHabitStore(schema: HabitSchema.current)),
            .init(name: "B", store: try InMemoryHabitStore(schema: HabitSchema.current))
        ).run()
        #expect(report.verdict == .match)
        #expect(report.notCompared.contains { $0.hasPrefix("history") })
    }

    @Test func aChangedAttributeIsNamedWithRecordAndAttribute() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Habit", StorePair.id(2), ["name": .string("Secret")])
        let report = try pair.verify()
        #expect(report.verdict == .mismatch)
        #expect(report.differenceCount == 1)
        let difference = try #require(report.differences.first)
        #expect(difference.kind == .attribute)
        #expect(difference.entity == "Habit")
        #expect(difference.id == StorePair.id(2))
        #expect(difference.attribute == "name")
    }

    @Test func valuesAreShownOnlyWhenAskedFor() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Habit", StorePair.id(2), ["name": .string("Secret")])
        let redacted = try pair.verify()
        let text = String(decoding: try JSONEncoder().encode(redacted), as: UTF8.self)
        #expect(!text.contains("Secret"))
        #expect(!text.contains("Run"))
        let shown = try pair.verify { $0.showsValues = true }
        #expect(shown.differences.first?.a == "\"Run\"")
        #expect(shown.differences.first?.b == "\"Secret\"")
    }

    @Test func theTextsOfAFilterAreShownOnlyWhenAskedFor() throws {
        let query = QueryFile.Query(
            name: "q",
            entity: "Entry",
            filter: #"note CONTAINS "my \"own\" words" OR value > 7"#
        )
        for showsValues in [false, true] {
            let report = try StorePair().verify {
                $0.queries = [query]
                $0.showsValues = showsValues
            }
            let plan = try #require(report.queries.first?.planA)
            #expect(plan.contains("words") == showsValues)
            #expect(plan.contains("own") == showsValues)
            #expect(plan.contains("value > 7"))
        }
        #expect(#"a "b\\" c "d" "#.hidingQuotedText == #"a "…" c "…" "#)
    }

    @Test func aDateThatDiffersInItsLastBitIsFound() throws {
        let pair = try StorePair()
        let date = StorePair.run.createdAt.timeIntervalSinceReferenceDate.nextUp
        try StorePair.plant(
            pair.b,
            "Habit",
            StorePair.id(2),
            ["createdAt": .date(Date(timeIntervalSinceReferenceDate: date))]
        )
        #expect(try pair.verify().differences.map(\.attribute) == ["createdAt"])
    }

    @Test func nilAndTheEmptyTextAreDifferent() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Entry", StorePair.id(11), ["note": .string("")])
        #expect(try pair.verify().differences.map(\.attribute) == ["note"])
    }

    @Test func aMissingRecordIsFoundFromBothSides() throws {
        let pair = try StorePair()
        try StorePair.remove(pair.b, "Draft", StorePair.id(30))
        let missing = try pair.verify()
        #expect(missing.differences.map(\.kind) == [.count, .missingInB])
        #expect(missing.differences.last?.id == StorePair.id(30))
        let swapped = StorePair(a: pair.b, b: pair.a)
        #expect(try swapped.verify().differences.map(\.kind) == [.count, .missingInA])
    }

    @Test func aRecordInPlaceOfAnotherIsMissingOnBothSidesThoughCountsAgree() throws {
        let pair = try StorePair()
        try StorePair.remove(pair.b, "Draft", StorePair.id(30))
        let layout = Draft.entity.layout
        let record = try EncodedRecord(
            [.uuid(StorePair.id(31)), .string("x"), .date(StorePair.draft.creationDate), .strings([])],
            layout: layout
        )
        try pair.b.replicate { try $0.put(entity: 3, id: StorePair.id(31), record) }
        #expect(Set(try pair.verify().differences.map(\.kind)) == [.missingInA, .missingInB])
    }

    @Test func aReferenceThatDanglesInOneStoreOnlyIsADifference() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Entry", StorePair.id(10), ["habitID": .uuid(StorePair.id(99))])
        let report = try pair.verify()
        #expect(Set(report.differences.map(\.kind)) == [.attribute, .dangling])
        #expect(report.anomalies.map(\.presence) == [.onlyB])
        #expect(report.anomalies.map(\.kind) == ["danglingReference"])
    }

    @Test func aQueryWithOtherRecordsIsNamed() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Entry", StorePair.id(11), ["note": .string("more")])
        let report = try pair.verify { $0.queries = [Self.notes] }
        #expect(report.differences.contains { $0.kind == .queryRecords && $0.query == "notes" })
        #expect(report.differences.contains { $0.kind == .queryCount && $0.query == "notes" })
        #expect(report.queries.map(\.matches) == [false])
        #expect(report.queries.map(\.countA) == [5])
        #expect(report.queries.map(\.countB) == [6])
    }

    @Test func aQueryWithTheSameRecordsInAnotherOrderIsNamed() throws {
        let pair = try StorePair()
        let early = Date(timeIntervalSinceReferenceDate: -1)
        try StorePair.plant(pair.b, "Entry", StorePair.id(18), ["date": .date(early)])
        let report = try pair.verify { $0.queries = [Self.notes] }
        #expect(report.differences.filter { $0.query == "notes" }.map(\.kind) == [.queryOrder])
    }

    @Test func aLimitedQueryIsComparedInItsWindow() throws {
        let pair = try StorePair()
        var query = Self.notes
        query.limit = 2
        let early = Date(timeIntervalSinceReferenceDate: -1)
        try StorePair.plant(pair.b, "Entry", StorePair.id(10), ["date": .date(early)])
        // The changed entry is the last in both, beyond the window.
        let report = try pair.verify { $0.queries = [query] }
        #expect(report.queries.map(\.matches) == [true])
        #expect(report.queries.map(\.countA) == [2])
    }

    @Test func moreDifferencesThanAreListedAreStillCounted() throws {
        let pair = try StorePair()
        for number in 10..<20 { try StorePair.plant(pair.b, "Entry", StorePair.id(number), ["value": .double(1)]) }
        let report = try pair.verify { $0.maximumDifferences = 3 }
        #expect(report.differenceCount == 10)
        #expect(report.differences.count == 3)
    }
}

extension StorePair {
    /// Two given stores.
    init(a: InMemoryHabitStore, b: InMemoryHabitStore) {
        self.a = a
        self.b = b
    }
}
