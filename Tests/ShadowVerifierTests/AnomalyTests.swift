import Foundation
import HabitStore
import Testing

@testable import ShadowVerifier

/// An oddity that both stores share is not a difference, but is reported all the same.
struct AnomalyTests {
    private func plantInBoth(_ pair: StorePair, _ entity: String, _ id: UUID, _ changes: [String: Value]) throws {
        for store in [pair.a, pair.b] { try StorePair.plant(store, entity, id, changes) }
    }

    @Test func aDanglingReferenceInBothIsAnAnomalyAndAMatch() throws {
        let pair = try StorePair()
        try plantInBoth(pair, "Entry", StorePair.id(10), ["habitID": .uuid(StorePair.id(99))])
        try plantInBoth(pair, "Entry", StorePair.id(11), ["habitID": .uuid(StorePair.id(98))])
        let report = try pair.verify()
        #expect(report.verdict == .match)
        #expect(report.anomalies.count == 1)
        let anomaly = try #require(report.anomalies.first)
        #expect(anomaly.kind == "danglingReference")
        #expect(anomaly.presence == .both)
        #expect(anomaly.entity == "Entry")
        #expect(anomaly.count == 2)
        #expect(anomaly.example == StorePair.id(10))
    }

    @Test func aDanglingLinkInBothIsAnAnomalyAndAMatch() throws {
        let pair = try StorePair()
        try plantInBoth(pair, "Habit", StorePair.id(3), ["tagIDs": .links([StorePair.id(77)])])
        let report = try pair.verify()
        #expect(report.verdict == .match)
        #expect(report.anomalies.map(\.attribute) == ["tags"])
    }

    @Test func aDateBeyondAllYearsIsAnAnomalyAndAMatch() throws {
        let pair = try StorePair()
        let far = Date(timeIntervalSinceReferenceDate: 1e15)
        try plantInBoth(pair, "Draft", StorePair.id(30), ["creationDate": .date(far)])
        let report = try pair.verify()
        #expect(report.verdict == .match)
        #expect(report.anomalies.map(\.kind) == ["oddDate"])
    }
}
