import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import ShadowVerifier

/// Stores are compared only at the same token.
struct TokenTests {
    @Test func differentTokensOfOneHistoryAreSkewedAndNotCompared() throws {
        let pair = try StorePair()
        try pair.a.save(Habit(name: "later"))
        let report = try pair.verify()
        #expect(report.verdict == .skewed)
        #expect(report.levels.isEmpty)
        #expect(report.differenceCount == 0)
        #expect(report.reason?.contains("token 2") == true)
        #expect(report.reason?.contains("token 1") == true)
    }

    @Test func aStoreThatCatchesUpMeanwhileIsComparedAfterAll() throws {
        let pair = try StorePair()
        let late = Habit(id: StorePair.id(40), name: "later", createdAt: Date(timeIntervalSinceReferenceDate: 0))
        try pair.a.save(late)
        var options = VerificationOptions()
        options.tokenTries = 400
        let catchUp = Thread {
            Thread.sleep(forTimeInterval: 0.05)
            _ = try? pair.a.replicaRead { from in
                try pair.b.replicate { to in
                    try from.record(entity: 0, id: late.id).map { try to.put(entity: 0, id: late.id, $0) }
                    try from.enumerateHistory(after: HistoryToken(rawValue: 1)) {
                        try to.append($0)
                        return true
                    }
                }
            }
        }
        catchUp.start()
        let report = try ShadowVerifier(
            .init(name: "A", store: pair.a),
            .init(name: "B", store: pair.b),
            options: options
        ).run()
        #expect(report.verdict == .match)
        #expect(report.a.information.token == HistoryToken(rawValue: 2))
    }

    @Test func anUnfinishedCopyIsNotCompared() throws {
        let pair = try StorePair()
        try pair.b.replicate { try $0.setRole(.backfilling, epoch: 0) }
        let error = #expect(throws: HabitStoreError.self) { _ = try pair.verify() }
        #expect(error?.code == .notAuthoritative)
    }

    @Test func aThrowOfTheProgressEndsTheComparison() throws {
        struct Stop: Error {}
        let pair = try StorePair()
        #expect(throws: Stop.self) {
            _ = try ShadowVerifier(.init(name: "A", store: pair.a), .init(name: "B", store: pair.b)).run { _ in
                throw Stop()
            }
        }
    }
}
