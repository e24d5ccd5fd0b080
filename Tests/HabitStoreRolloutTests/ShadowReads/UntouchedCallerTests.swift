import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import StandardEngines
import Testing
import Trials

@testable import HabitStoreRollout

/// Whatever the other store does, callers get the answer, the error and the order of events of their own store.
@Suite(.timeLimit(.minutes(5)))
struct UntouchedCallerTests {
    /// How the other store misbehaves.
    enum Misbehaviour: Sendable, CaseIterable {
        case lies, fails, hangs, isSlow
    }

    /// The user's answers without any shadow read.
    private func expected(_ user: ShadowedUser) throws -> [String] {
        let address = try user.staged.address(.old)
        let own = try address.open(.readOnly, schema: HabitSchema.current)
        defer { own.close() }
        return try ShadowQuestion.allCases.map { question in try own.read { question.ask($0) } }
    }

    private func misbehave(_ user: ShadowedUser, _ how: Misbehaviour) {
        switch how {
        case .lies: user.lie(.reversed)
        case .fails: user.plan.inject(Fault(.fail(.corrupt), on: .reads))
        case .hangs: user.plan.inject(Fault(.hang, on: .reads))
        case .isSlow: user.lie(.slow)
        }
    }

    @Test(arguments: Misbehaviour.allCases)
    func theirAnswersAreThoseOfTheirOwnStore(how: Misbehaviour) throws {
        let user = try ShadowedUser { $0.shadowReads.comparisonSeconds = 0.05 }
        let expected = try expected(user)
        misbehave(user, how)
        for _ in 0..<3 {
            let start = ContinuousClock.now
            let answers = try ShadowQuestion.allCases.map { question in try user.store.read { question.ask($0) } }
            #expect(answers == expected)
            // No caller waits for the other store.
            #expect(ContinuousClock.now - start < .seconds(30))
        }
    }

    @Test(arguments: Misbehaviour.allCases)
    func theAsyncFormsAreUntouchedToo(how: Misbehaviour) async throws {
        let user = try ShadowedUser { $0.shadowReads.comparisonSeconds = 0.05 }
        let expected = try expected(user)
        misbehave(user, how)
        let store = user.store
        var answers: [String] = []
        for question in ShadowQuestion.allCases {
            answers.append(try await store.read { transaction in question.ask(transaction) })
        }
        #expect(answers == expected)
        let page = try await store.stream(FetchDescriptor<Habit>(), batchSize: 2)
            .reduce(into: [String]()) { names, page in names += page.map(\.name) }
        #expect(page == ShadowedUser.names)
    }

    /// The closure runs once, sees its rows one after the other, and its own error reaches its caller.
    @Test(arguments: Misbehaviour.allCases)
    func theOrderOfEventsIsTheCallers(how: Misbehaviour) throws {
        let user = try ShadowedUser { $0.shadowReads.comparisonSeconds = 0.05 }
        misbehave(user, how)
        var events: [String] = []
        #expect(throws: ShadowQuestion.CallersError.self) {
            try user.store.read { transaction in
                events.append("begin")
                try transaction.enumerate(FetchDescriptor<Habit>()) { habit in
                    events.append(habit.name)
                    if habit.name == "Cyd" { throw ShadowQuestion.CallersError() }
                    return true
                }
            }
        }
        #expect(events == ["begin", "Ada", "Bob", "Cyd"])
    }

    /// For the comparison a fetch of identifiers became one of whole records, which the caller paid for.
    @Test func aCallerReadsNoMoreThanWithoutAComparison() throws {
        let user = try ShadowedUser()
        let shadow = try #require(user.store.files.leases.load()?.shadow)
        let own = try user.staged.address(.old).open(.readOnly, schema: HabitSchema.current)
        defer { own.close() }
        try own.read { transaction in
            let spy = SpyTransaction(transaction)
            let recording = RecordingTransaction(spy, shadow, nil)
            _ = try recording.fetchIdentifiers(FetchDescriptor<Habit>())
            _ = try recording.project(FetchDescriptor<Habit>(), [\Habit.streak])
            let position = try #require(Habit.entity.attributes.firstIndex { $0.name == "streak" })
            #expect(spy.projections == [[0], [position]])
            recording.finish()
        }
        #expect(try user.counts() == [.match: 2])
    }
}

/// Records which attributes rows are read for.
private final class SpyTransaction: InterceptingTransaction {
    let base: any ReadTransaction
    private(set) var projections: [[Int]?] = []

    init(_ base: any ReadTransaction) { self.base = base }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        projections.append(fetch.query.projection)
        return try base.enumerateRows(fetch, body)
    }
}
