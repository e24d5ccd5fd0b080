import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

@testable import ShadowVerifier

/// Real reports: made by comparing stores, not written by hand.
enum SampleReport {
    static let heroes = QueryFile.Query(name: "heroes", entity: "Habit", filter: "streak >= 7")

    /// The report of a comparison with the given verdict.
    static func report(_ verdict: VerificationReport.Verdict) throws -> VerificationReport {
        let pair = try StorePair()
        switch verdict {
        case .match: return try pair.verify { $0.queries = [heroes] }
        case .mismatch:
            try StorePair.plant(pair.b, "Entry", StorePair.id(10), ["note": .string("other")])
            return try pair.verify()
        case .skewed:
            try pair.a.save(Habit(name: "later"))
            return try pair.verify()
        case .ignored:
            try StorePair.plant(pair.b, "Entry", StorePair.id(10), ["note": .string("other")])
            let rules = try IgnoreRules([try IgnoreRuleTests.rule(), try IgnoreRuleTests.rule("two", query: "heroes")])
            return try pair.verify {
                $0.ignoreRules = rules
                $0.now = IgnoreRuleTests.now
            }
        case .error:
            let condition = try FilterExpression(text: "streak >= 7")
            return try verify(pair, with: LyingStore(pair.b) { $0.filter == condition ? try fail(.corrupt) : nil })
        case .timedOut: return try pair.verify { $0.timeLimitSeconds = 0 }
        }
    }

    /// A report with differences of many kinds, anomalies, queries and rules, one of them expired.
    static func everything(showsValues: Bool = false, names: (String, String) = ("A", "B")) throws -> VerificationReport
    {
        let pair = try StorePair()
        for store in [pair.a, pair.b] {
            try StorePair.plant(store, "Entry", StorePair.id(11), ["habitID": .uuid(StorePair.id(99))])
        }
        try StorePair.plant(pair.b, "Habit", StorePair.id(2), ["name": .string("Secret")])
        try StorePair.plant(pair.b, "Entry", StorePair.id(10), ["note": .null])
        try StorePair.remove(pair.b, "Draft", StorePair.id(30))
        let condition = try FilterExpression(text: "streak >= 7")
        let liar = LyingStore(pair.b, findings: [StoreFinding(.damage, "page", "a page is broken")]) {
            $0.filter == condition ? try fail(.evaluationFailed) : nil
        }
        return try verify(pair, with: liar, names: names) {
            $0.showsValues = showsValues
            $0.ignoreRules = try IgnoreRules([
                try IgnoreRuleTests.rule(), try IgnoreRuleTests.rule("old", expires: IgnoreRuleTests.now),
            ])
        }
    }

    private static func fail(_ code: HabitStoreError.Code) throws -> [Record]? {
        throw HabitStoreError(code, "this engine cannot")
    }

    static func verify(
        _ pair: StorePair,
        with second: LyingStore,
        names: (String, String) = ("A", "B"),
        _ configure: (inout VerificationOptions) throws -> Void = { _ in }
    ) throws -> VerificationReport {
        var options = VerificationOptions()
        options.queries = [heroes]
        options.reportsErrors = true
        options.now = IgnoreRuleTests.now
        try configure(&options)
        return try ShadowVerifier(
            .init(name: names.0, store: pair.a),
            .init(name: names.1, store: second),
            options: options
        ).run()
    }
}
