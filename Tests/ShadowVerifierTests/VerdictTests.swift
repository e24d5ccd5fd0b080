import Foundation
import HabitStore
import Testing

@testable import ShadowVerifier

/// A comparison that does not finish proves nothing, and reports everything that it found.
struct VerdictTests {
    private static let heroes = QueryFile.Query(name: "heroes", entity: "Habit", filter: "streak >= 7")

    /// Compares with a second store that fails at the query, which is the last level.
    private func verifyFailing(
        _ pair: StorePair,
        _ configure: (inout VerificationOptions) throws -> Void = { _ in }
    ) throws -> VerificationReport {
        let condition = try FilterExpression(text: "streak >= 7")
        let failing = LyingStore(pair.b) { query in
            guard query.filter == condition else { return nil }
            throw HabitStoreError(.corrupt, "the page cannot be read")
        }
        var options = VerificationOptions()
        options.queries = [Self.heroes]
        options.reportsErrors = true
        try configure(&options)
        return try ShadowVerifier(.init(name: "A", store: pair.a), .init(name: "B", store: failing), options: options)
            .run()
    }

    @Test func anErrorIsAVerdictWithWhatWasComparedBefore() throws {
        let report = try verifyFailing(try StorePair())
        #expect(report.verdict == .error)
        #expect(report.failure?.code == "corrupt")
        #expect(report.reason == "the page cannot be read")
        #expect(report.levels.map(\.name).contains("contents"))
        #expect(!report.levels.map(\.name).contains("queries"))
        #expect(report.notCompared.last?.hasPrefix("queries") == true)
    }

    @Test func aDifferenceThatWasFoundBeforeAnErrorStaysOne() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Habit", StorePair.id(3), ["unit": .string("km")])
        let report = try verifyFailing(pair)
        #expect(report.verdict == .mismatch)
        #expect(report.failure?.code == "corrupt")
    }

    @Test func whatIsIgnoredDoesNotHideAnError() throws {
        let pair = try StorePair()
        try StorePair.plant(pair.b, "Habit", StorePair.id(3), ["unit": .string("km")])
        let report = try verifyFailing(pair) {
            $0.ignoreRules = try IgnoreRules([try IgnoreRuleTests.rule(entity: "Habit", attribute: "unit")])
            $0.now = IgnoreRuleTests.now
        }
        #expect(report.ignoredCount == 1)
        #expect(report.verdict == .error)
    }

    @Test func theTimeLimitEndsAComparisonWithoutProof() throws {
        let report = try StorePair().verify { $0.timeLimitSeconds = 0 }
        #expect(report.verdict == .timedOut)
        #expect(report.reason?.contains("time limit") == true)
        #expect(report.levels.isEmpty)
        #expect(report.notCompared.contains { $0.hasPrefix("store checks") })
    }

    @Test func aTimeLimitThatIsNotReachedChangesNothing() throws {
        #expect(try StorePair().verify { $0.timeLimitSeconds = 3_600 }.verdict == .match)
    }
}
