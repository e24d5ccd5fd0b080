import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// Copies were neither locked nor fenced: several simultaneous kills from `complete` left two standbys, and a copier that slept overwrote
/// acknowledged writes in the store that had taken over. Now each transaction of a copy checks that the destination still belongs to it.
struct CopyFenceTests {
    private struct Stop: Error {}

    private func filled() throws -> InMemoryHabitStore {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        try SampleRecords.fill(store, entries: 20)
        try store.replicate { try $0.setRole(.authoritative, epoch: 3) }
        return store
    }

    private func overtaken(
        _ source: InMemoryHabitStore,
        _ copy: InMemoryHabitStore,
        by other: @escaping () throws -> Void
    ) {
        var hasSlept = false
        let error = #expect(throws: HabitStoreError.self) {
            _ = try Backfill(from: source, to: copy, chunk: 5, epoch: 3).run { _ in
                guard !hasSlept else { return }
                hasSlept = true
                try other()
            }
        }
        #expect(error?.code == .notAuthoritative)
    }

    @Test func aCopierThatSleptWakesToARefusalOnceTheStoreServes() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        overtaken(source, copy) {
            _ = try Backfill(from: source, to: copy, epoch: 3).run()
            try copy.replicate { try $0.setRole(.authoritative, epoch: 4) }
            try copy.save(SampleRecords.entry(900))
        }
        #expect(try copy.information().role == .authoritative)
        #expect(try copy.information().epoch == 4)
        #expect(try copy.model(Entry.self, id: SampleRecords.entry(900).id) != nil)
        #expect(try copy.fetchCount(FetchDescriptor<Entry>()) == 21)
    }

    @Test func theLaterOfTwoCopiesGoesOnAlone() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        overtaken(source, copy) { _ = try Backfill(from: source, to: copy, epoch: 3).run() }
        #expect(try SampleRecords.verdict(source, copy) == .match)
        #expect(try copy.information().role == .standby)
    }

    @Test func aStoreThatServesIsNoDestination() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        _ = try Backfill(from: source, to: copy, epoch: 3).run()
        try source.save(SampleRecords.entry(900))
        for epoch in [3, 4] {
            try copy.replicate { try $0.setRole(.authoritative, epoch: epoch) }
            let error = #expect(throws: HabitStoreError.self) { try Backfill(from: source, to: copy, epoch: 3).run() }
            #expect(error?.code == .notAuthoritative)
        }
        // A store that was left at a lower epoch without being sealed is a valid destination.
        try copy.replicate { try $0.setRole(.authoritative, epoch: 2) }
        try source.save(SampleRecords.entry(901))
        #expect(try Backfill(from: source, to: copy, epoch: 3).run().kind == .caughtUp)
        #expect(try copy.information().role == .standby)
    }

    @Test(arguments: [StoreRole.sealed, .standby, .authoritative])
    func aSourceThatIsLeftMeanwhileEndsTheCopy(role: StoreRole) throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        overtaken(source, copy) { try source.replicate { try $0.setRole(role, epoch: role == .authoritative ? 4 : 3) } }
        #expect(try copy.replicaRead { try $0.information() }.role == .backfilling)
    }

    /// Equal tokens were taken for equal stores, so a store with a diverged history passed for current.
    @Test func aStoreThatHasGoneAnotherWayIsCopiedAnew() throws {
        let (source, copy) = (try filled(), try InMemoryHabitStore(schema: HabitSchema.current))
        _ = try Backfill(from: source, to: copy, epoch: 3).run()
        try source.save(SampleRecords.entry(902))
        try copy.replicate { try $0.setRole(.authoritative, epoch: 2) }
        try copy.save(SampleRecords.entry(903))
        try copy.replicate { try $0.setRole(.standby, epoch: 3) }
        #expect(try Backfill(from: source, to: copy, epoch: 3).run().kind == .copied)
        #expect(try SampleRecords.verdict(source, copy) == .match)
    }
}
