import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import ShadowVerifier

/// Faults of an engine with equal records: it loses an index entry, fails, miscounts, or reports damage.
struct EngineFaultTests {
    private static let heroes = QueryFile.Query(name: "heroes", entity: "Habit", filter: "streak >= 7")

    private func verify(
        findings: [StoreFinding] = [],
        queries: [QueryFile.Query] = [],
        answer: @escaping @Sendable (RecordQuery) throws -> [Record]? = { _ in nil }
    ) throws -> VerificationReport {
        let pair = try StorePair()
        var options = VerificationOptions()
        options.queries = queries
        let liar = LyingStore(pair.b, findings: findings, answer: answer)
        return try ShadowVerifier(.init(name: "A", store: pair.a), .init(name: "B", store: liar), options: options)
            .run()
    }

    @Test func aStoreThatLiesAboutNothingMatches() throws {
        #expect(try verify(queries: [Self.heroes]).verdict == .match)
    }

    /// The report named the entity with the reference, but with the identifier of the referenced record: no such entry could be found.
    @Test func aReferenceThatTheIndexLostIsAnInverseThatDoesNotAgree() throws {
        let lost = FilterExpression.compare(
            .equal,
            .attribute(AttributePath("habitID")),
            .literal(.uuid(StorePair.id(2)))
        )
        let report = try verify { $0.filter == lost ? [] : nil }
        #expect(report.differences.map(\.kind) == [.inverse])
        #expect(report.differences.first?.id == StorePair.id(2))
        #expect(report.differences.first?.entity == "Habit" && report.differences.first?.attribute == "entries")
    }

    @Test func aQueryThatFailsInOneStoreIsNamed() throws {
        let condition = try FilterExpression(text: "streak >= 7")
        let report = try verify(queries: [Self.heroes]) { query in
            guard query.filter == condition else { return nil }
            throw HabitStoreError(.evaluationFailed, "this engine cannot")
        }
        #expect(report.differences.map(\.kind) == [.queryError])
        #expect(report.differences.first?.query == "heroes")
        #expect(report.queries.map(\.countB) == [nil])
    }

    @Test func aFetchThatDisagreesWithItsCountIsNamed() throws {
        let condition = try FilterExpression(text: "streak >= 7")
        let report = try verify(queries: [Self.heroes]) { $0.filter == condition ? [] : nil }
        #expect(Set(report.differences.map(\.kind)) == [.queryRecords, .queryCount])
    }

    @Test func anErrorThatIsNotTheQuerysEndsTheComparison() throws {
        let condition = try FilterExpression(text: "streak >= 7")
        let error = #expect(throws: HabitStoreError.self) {
            _ = try verify(queries: [Self.heroes]) { query in
                guard query.filter == condition else { return nil }
                throw HabitStoreError(.corrupt, "the page cannot be read")
            }
        }
        #expect(error?.code == .corrupt)
    }

    @Test func damageThatAStoreFindsInItselfIsADifference() throws {
        let finding = StoreFinding(
            .damage,
            "indexEntryMissing",
            "an entry is missing",
            entity: "Entry",
            id: StorePair.id(10),
            attribute: "habitID"
        )
        let report = try verify(findings: [finding])
        #expect(report.verdict == .mismatch)
        #expect(report.differences.map(\.kind) == [.damage])
        #expect(report.differences.first?.id == StorePair.id(10))
    }

    @Test func anAnomalyInOneStoreOnlyIsToldAndIsNoDifference() throws {
        let report = try verify(findings: [StoreFinding(.anomaly, "nonCanonicalText", "odd", entity: "Entry")])
        #expect(report.verdict == .match)
        #expect(report.anomalies.map(\.presence) == [.onlyB])
    }

    @Test func aLinkThatIsHeldTwiceIsADifference() throws {
        let pair = try StorePair()
        let truth = try pair.b.read { try $0.records(RecordQuery(entity: "Habit")) }
        let doubled = truth.map { record -> Record in
            let values = record.values.map { value -> Value in
                guard case .links(let links) = value else { return value }
                return .links(links + links)
            }
            return Record(entity: record.entity, id: record.id, values: values)
        }
        let liar = LyingStore(pair.b) { $0.entity == "Habit" && $0.limit != nil ? doubled : nil }
        let report = try ShadowVerifier(.init(name: "A", store: pair.a), .init(name: "B", store: liar)).run()
        #expect(report.differences.contains { $0.kind == .duplicateLink && $0.id == StorePair.id(2) })
    }
}
