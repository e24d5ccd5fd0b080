import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// A backfill refuses to destroy data, and leaves the destination unchanged.
struct BackfillRefusalTests {
    private struct Stop: Error {}

    private func filled(entries: Int = 20) throws -> InMemoryHabitStore {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        try SampleRecords.fill(store, entries: entries)
        return store
    }

    private func refusal(_ source: InMemoryHabitStore, _ destination: InMemoryHabitStore) -> HabitStoreError? {
        #expect(throws: HabitStoreError.self) { _ = try Backfill(from: source, to: destination).run() }
    }

    @Test func aNewerDestinationIsNeverOverwritten() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        _ = try Backfill(from: source, to: copy, role: .authoritative).run()
        try copy.save(Habit(id: SampleRecords.id(50), name: "newer"))
        let before = try copy.information()
        #expect(refusal(source, copy)?.code == .unsupported)
        #expect(try copy.information() == before)
        #expect(try copy.model(Habit.self, id: SampleRecords.id(50))?.name == "newer")
    }

    @Test func dataOfAnotherOriginIsNeverOverwritten() throws {
        let (source, other) = (try filled(), try filled(entries: 3))
        let before = try other.information()
        #expect(refusal(source, other)?.code == .unsupported)
        #expect(try other.information() == before)
        #expect(try other.all(Entry.self).count == 3)
    }

    @Test func anUnfinishedCopyOfAnotherStoreIsLeftAlone() throws {
        let (source, other, copy) = (try filled(), try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        #expect(throws: Stop.self) { _ = try Backfill(from: other, to: copy, chunk: 3).run { _ in throw Stop() } }
        let state = try copy.replicaRead { try $0.backfillState() }
        #expect(state != nil)
        #expect(refusal(source, copy)?.code == .unsupported)
        #expect(try copy.replicaRead { try $0.backfillState() } == state)
    }

    @Test func anUnfinishedCopyIsNoSource() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        #expect(throws: Stop.self) { _ = try Backfill(from: source, to: copy, chunk: 3).run { _ in throw Stop() } }
        #expect(refusal(copy, try InMemoryHabitStore(schema: HabitSchema.current))?.code == .unsupported)
    }

    @Test func aStateThatCannotBeReadIsAnErrorValue() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        try copy.replicate { try $0.setBackfillState("{") }
        #expect(refusal(source, copy)?.code == .corrupt)
    }

    @Test func thePrunedPartOfTheHistoryIsMissingInTheCopyToo() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        try source.pruneHistory(through: HistoryToken(rawValue: 2))
        let outcome = try Backfill(from: source, to: copy).run()
        #expect(outcome.transactions == Int(try source.currentToken().rawValue) - 2)
        #expect(try copy.information().historyFloor == HistoryToken(rawValue: 2))
        #expect(try copy.currentToken() == source.currentToken())
        #expect(try SampleRecords.verdict(source, copy) == .match)
        let expired = #expect(throws: HabitStoreError.self) { _ = try copy.fetchHistory(after: .zero) }
        #expect(expired?.code == .historyExpired)
    }

    @Test func aCopyBehindThePrunedHistoryIsMadeAgain() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        _ = try Backfill(from: source, to: copy).run()
        try source.save(SampleRecords.entry(300))
        try source.delete(SampleRecords.entry(100))
        try source.pruneHistory(through: try source.currentToken())
        let outcome = try Backfill(from: source, to: copy).run()
        #expect(outcome.kind == .copied)
        #expect(try SampleRecords.verdict(source, copy) == .match)
    }

    @Test func aHistoryThatIsPrunedMeanwhileEndsTheRunAndTheNextOneSucceeds() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        var isFirst = true
        let error = #expect(throws: HabitStoreError.self) {
            _ = try Backfill(from: source, to: copy, chunk: 5).run { _ in
                guard isFirst else { return }
                isFirst = false
                try source.save(SampleRecords.entry(300))
                try source.pruneHistory(through: try source.currentToken())
            }
        }
        #expect(error?.code == .historyExpired)
        #expect(try Backfill(from: source, to: copy).run().kind == .copied)
        #expect(try SampleRecords.verdict(source, copy) == .match)
    }
}
