import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A copy contains everything that its source does, whatever happens while it is made.
struct BackfillTests {
    private struct Stop: Error {}

    private func filled(entries: Int = 20) throws -> InMemoryHabitStore {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        try SampleRecords.fill(store, entries: entries)
        return store
    }

    @Test(arguments: EngineName.standard)
    func aCopyHasTheRecordsTheHistoryAndTheTokens(engine: EngineName) throws {
        let folder = try TemporaryFolder()
        let source = try StoreAddress(engine, path: folder.path("a")).open(.create, schema: HabitSchema.current)
        try SampleRecords.fill(source)
        let copy = try StoreAddress(engine.otherStandard, path: folder.path("b")).open(
            .create,
            schema: HabitSchema.current
        )
        let outcome = try Backfill(from: source, to: copy, chunk: 6).run()
        #expect(outcome == .init(kind: .copied, records: 23, transactions: 4, token: HistoryToken(rawValue: 4)))
        #expect(try SampleRecords.verdict(source, copy) == .match)
        #expect(try copy.fetchHistory(after: .zero) == source.fetchHistory(after: .zero))
        #expect(try copy.information().lineage == source.information().lineage)
        #expect(try copy.information().storeID != source.information().storeID)
        #expect(try copy.information().role == .standby)
        source.close()
        copy.close()
    }

    @Test(arguments: [0, 3, 20])
    func runAgainItDoesNothing(entries: Int) throws {
        let (source, copy) = (try filled(entries: entries), try InMemoryHabitStore(schema: HabitSchema.current))
        _ = try Backfill(from: source, to: copy).run()
        let again = try Backfill(from: source, to: copy).run()
        #expect(again.kind == .alreadyCurrent)
        #expect(again.records == 0)
        #expect(try SampleRecords.verdict(source, copy) == .match)
    }

    /// An empty store was copied again and again, with new bookkeeping each time.
    @Test func anEmptyStoreIsCopiedOnce() throws {
        let (source, copy) = (
            try InMemoryHabitStore(schema: HabitSchema.current), try InMemoryHabitStore(schema: HabitSchema.current)
        )
        #expect(try Backfill(from: source, to: copy).run().kind == .copied)
        #expect(try copy.information().role == .standby)
        #expect(try Backfill(from: source, to: copy).run().kind == .alreadyCurrent)
    }

    /// A process was killed while it emptied a store for a new copy. The next run took the store for empty, and records that the source had deleted
    /// since the old copy remained: a crash sweep found mirrors with more entries than their source.
    @Test func aRunThatWasKilledWhileItEmptiedTheDestinationBeginsAgain() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        _ = try Backfill(from: source, to: copy).run()
        for number in 100..<110 { try source.delete(SampleRecords.entry(number)) }
        try source.pruneHistory(through: try source.currentToken())
        let information = try source.information()
        let state = Backfill.State(
            lineage: information.lineage,
            startToken: information.token,
            entity: 0,
            lastID: nil,
            records: 0
        )
        try copy.replicate { replica in
            try replica.setRole(.backfilling, epoch: information.epoch)
            try replica.setBackfillState(String(decoding: try JSONEncoder().encode(state), as: UTF8.self))
        }
        #expect(try Backfill(from: source, to: copy).run().kind == .copied)
        #expect(try copy.all(Entry.self).count == 10)
        #expect(try SampleRecords.verdict(source, copy) == .match)
    }

    @Test(arguments: [1, 2, 3, 7, 20, 23, 24, 5_000])
    func theSizeOfAChunkChangesNothing(chunk: Int) throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        var last: Backfill.Progress?
        let outcome = try Backfill(from: source, to: copy, chunk: chunk).run { last = $0 }
        #expect(outcome.records == 23)
        #expect(last?.done == 23)
        #expect(last?.total == 23)
        #expect(try SampleRecords.verdict(source, copy) == .match)
    }

    @Test func aCopyThatIsBehindIsCaughtUpFromTheHistory() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        _ = try Backfill(from: source, to: copy).run()
        try source.write(author: "later") { transaction in
            try transaction.insert(SampleRecords.entry(300))
            try transaction.save(SampleRecords.entry(100, note: "changed"))
            try transaction.delete(SampleRecords.entry(101))
        }
        try source.delete(SampleRecords.entry(300))
        let outcome = try Backfill(from: source, to: copy).run()
        #expect(outcome == .init(kind: .caughtUp, records: 3, transactions: 2, token: HistoryToken(rawValue: 6)))
        #expect(try SampleRecords.verdict(source, copy) == .match)
        #expect(try copy.fetchHistory(after: .zero) == source.fetchHistory(after: .zero))
    }

    @Test(arguments: 1...8)
    func aRunThatWasStoppedGoesOnWhereItEnded(stoppedAt: Int) throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        var steps = 0
        #expect(throws: Stop.self) {
            _ = try Backfill(from: source, to: copy, chunk: 4).run { _ in
                steps += 1
                if steps == stoppedAt { throw Stop() }
            }
        }
        let done = try copy.replicaRead { replica in
            try copy.schema.entities.indices.reduce(0) { try $0 + replica.count(entity: $1) }
        }
        // An unfinished copy serves no reads.
        let refusal = #expect(throws: HabitStoreError.self) { _ = try copy.all(Habit.self) }
        #expect(refusal?.code == .notAuthoritative)
        var first: Backfill.Progress?
        let outcome = try Backfill(from: source, to: copy, chunk: 4).run { first = first ?? $0 }
        #expect(outcome.records == 23)
        if let first { #expect(first.done >= done) }
        #expect(try SampleRecords.verdict(source, copy) == .match)
    }

    @Test func whatIsWrittenMeanwhileIsInTheCopy() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        var step = 0
        _ = try Backfill(from: source, to: copy, chunk: 3).run { _ in
            step += 1
            try source.write(author: "meanwhile") { transaction in
                // Changes and deletions before and after the position of the copy.
                try transaction.insert(SampleRecords.entry(10 + step))
                try transaction.insert(SampleRecords.entry(400 + step))
                try transaction.save(SampleRecords.entry(102, note: "step \(step)"))
                try transaction.save(SampleRecords.entry(118, note: "step \(step)"))
                if step == 4 { try transaction.delete(SampleRecords.entry(101)) }
                if step == 5 { try transaction.delete(SampleRecords.entry(119)) }
            }
        }
        #expect(step >= 8)
        // The last writes came after the end of the copy.
        _ = try Backfill(from: source, to: copy).run()
        #expect(try SampleRecords.verdict(source, copy) == .match)
        #expect(try copy.fetchHistory(after: .zero) == source.fetchHistory(after: .zero))
    }

    @Test func oddDataIsCarriedAsItIs() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        let layout = Entry.entity.layout
        let dangling = try EncodedRecord(
            [
                .uuid(SampleRecords.id(900)), .date(SampleRecords.referenceDate), .string(""), .null,
                .uuid(SampleRecords.id(901)),
            ],
            layout: layout
        )
        let twin = try EncodedRecord([.uuid(SampleRecords.id(902)), .string("sport")], layout: Tag.entity.layout)
        try source.replicate { replica in
            try replica.put(entity: 1, id: SampleRecords.id(900), dangling)
            try replica.put(entity: 2, id: SampleRecords.id(902), twin)
        }
        _ = try Backfill(from: source, to: copy).run()
        #expect(try SampleRecords.verdict(source, copy) == .match)
        #expect(try copy.replicaRead { try $0.record(entity: 1, id: SampleRecords.id(900)) } == dangling)
        #expect(try Set(copy.check { _ in }.map(\.kind)) == ["danglingReference", "duplicateUniqueValue"])
    }
}
