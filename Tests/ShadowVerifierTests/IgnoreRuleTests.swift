import Foundation
@_spi(Engines) import HabitStore
import Testing

@testable import ShadowVerifier

/// A rule ignores known differences: only those at its place, only until it expires, and never silently.
struct IgnoreRuleTests {
    static let now = Date(timeIntervalSinceReferenceDate: 800_000_000)

    static func rule(
        _ name: String = "notes",
        entity: String? = "Entry",
        attribute: String? = "note",
        kind: StoreDifference.Kind? = nil,
        query: String? = nil,
        expires: Date = now.addingTimeInterval(1)
    ) throws -> IgnoreRule {
        try IgnoreRule(
            name: name,
            reason: "known",
            entity: entity,
            attribute: attribute,
            kind: kind,
            query: query,
            expires: expires
        )
    }

    private func verify(_ pair: StorePair, _ rules: [IgnoreRule], maximum: Int = 1_000) throws -> VerificationReport {
        let rules = try IgnoreRules(rules)
        return try pair.verify {
            $0.ignoreRules = rules
            $0.now = Self.now
            $0.maximumDifferences = maximum
        }
    }

    private func pairWithNotes(_ numbers: Int...) throws -> StorePair {
        let pair = try StorePair()
        for number in numbers {
            try StorePair.plant(pair.b, "Entry", StorePair.id(number), ["note": .string("other")])
        }
        return pair
    }

    @Test func whatARuleCoversIsIgnoredAndNoMatch() throws {
        let report = try verify(try pairWithNotes(10, 11), [try Self.rule()])
        #expect(report.verdict == .ignored)
        #expect(report.differenceCount == 2)
        #expect(report.ignoredCount == 2)
        #expect(report.openDifferenceCount == 0)
        #expect(report.differences.map(\.ignoredBy) == ["notes", "notes"])
        #expect(report.ignoreRules.map(\.differences) == [2])
        #expect(report.appliedRuleCount == 1)
    }

    @Test func aDifferenceElsewhereStillCounts() throws {
        let pair = try pairWithNotes(10)
        try StorePair.plant(pair.b, "Entry", StorePair.id(10), ["value": .double(1)])
        let report = try verify(pair, [try Self.rule()])
        #expect(report.verdict == .mismatch)
        #expect(report.openDifferenceCount == 1)
        #expect(report.differences.map(\.ignoredBy) == ["notes", nil])
    }

    @Test func anExpiredRuleIgnoresNothingAndIsTold() throws {
        let report = try verify(try pairWithNotes(10), [try Self.rule(expires: Self.now)])
        #expect(report.verdict == .mismatch)
        #expect(report.ignoreRules.map(\.isExpired) == [true])
        #expect(report.ignoreRules.map(\.differences) == [0])
        #expect(report.appliedRuleCount == 0)
    }

    @Test func aRuleThatCoversNothingLeavesAMatchAMatch() throws {
        let report = try verify(try StorePair(), [try Self.rule()])
        #expect(report.verdict == .match)
        #expect(report.appliedRuleCount == 0)
        #expect(report.ignoreRules.count == 1)
    }

    @Test func theFirstRuleThatCoversADifferenceTakesIt() throws {
        let rules = [
            try Self.rule("old", expires: Self.now), try Self.rule("first"),
            try Self.rule("second", attribute: nil, kind: .attribute),
        ]
        let pair = try pairWithNotes(10)
        try StorePair.plant(pair.b, "Entry", StorePair.id(10), ["value": .double(1)])
        let report = try verify(pair, rules)
        #expect(report.verdict == .ignored)
        #expect(report.ignoreRules.map(\.differences) == [0, 1, 1])
    }

    @Test func lostRecordsAndDamageAreIgnoredOnlyByName() throws {
        let pair = try StorePair()
        try StorePair.remove(pair.b, "Draft", StorePair.id(30))
        let wide = try Self.rule(entity: "Draft", attribute: nil)
        #expect(try verify(pair, [wide]).openDifferenceCount == 2)
        let named = [
            try Self.rule("lost", entity: "Draft", attribute: nil, kind: .missingInB),
            try Self.rule("fewer", entity: "Draft", attribute: nil, kind: .count),
        ]
        #expect(try verify(pair, named).verdict == .ignored)
        let damage = StoreDifference(.damage, "broken", entity: "Draft")
        #expect(!wide.covers(damage))
    }

    @Test func aQueryIsIgnoredByItsName() throws {
        let pair = try pairWithNotes(11)
        let queries = ["notes", "others"].map {
            QueryFile.Query(name: $0, entity: "Entry", filter: "note != nil")
        }
        let rules = try IgnoreRules([
            try Self.rule(), try Self.rule("query", entity: nil, attribute: nil, query: "notes"),
        ])
        let report = try pair.verify {
            $0.queries = queries
            $0.ignoreRules = rules
            $0.now = Self.now
        }
        #expect(report.verdict == .mismatch)
        #expect(Set(report.differences.filter { $0.ignoredBy == nil }.map(\.query)) == ["others"])
        // A differing query does not become a matching one.
        #expect(report.queries.map(\.matches) == [false, false])
    }

    /// The list of differences is limited: a thousand ignored ones must not displace the one that counts.
    @Test func whatIsIgnoredNeverKeepsWhatCountsFromBeingListed() throws {
        let pair = try pairWithNotes(10, 11, 12, 13, 14)
        try StorePair.plant(pair.b, "Entry", StorePair.id(19), ["value": .double(1)])
        let report = try verify(pair, [try Self.rule()], maximum: 3)
        #expect(report.differenceCount == 6)
        #expect(report.differences.count == 3)
        #expect(report.differences.contains { $0.ignoredBy == nil && $0.id == StorePair.id(19) })
    }

    @Test func aRuleForWhatTheStoresDoNotHaveIsRefused() throws {
        let pair = try StorePair()
        let entity = #expect(throws: HabitStoreError.self) {
            _ = try verify(pair, [try Self.rule(entity: "Entri")])
        }
        #expect(entity?.code == .unknownEntity)
        let attribute = #expect(throws: HabitStoreError.self) {
            _ = try verify(pair, [try Self.rule(attribute: "notes")])
        }
        #expect(attribute?.code == .unknownAttribute)
        // A relationship is a place too.
        #expect(try verify(pair, [try Self.rule(attribute: "habit")]).verdict == .match)
    }
}
