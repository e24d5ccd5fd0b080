import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import RolloutTesting
import ShadowVerifier
import StandardEngines
import Testing
import TripsSample

/// Moves trips from SQLite to LMDB like habits.
@Suite(.timeLimit(.minutes(5)))
struct TripRolloutTests {
    private let user: StagedUser
    private let stores: UserStores

    init() throws {
        user = try StagedUser(EnginePair(old: .sqlite, new: .lmdb), .standard)
        stores = try user.stores(schema: TripSchema.current)
    }

    private func bring(_ store: UserStore, to stage: Stage) throws {
        try user.bring(store, to: stage) { store in
            _ = try store.fetch(PersonalTrip.self, sortBy: [SortDescriptor(\.startDate)])
            _ = try store.fetchCount(FetchDescriptor<LivingAccommodation>())
        }
    }

    /// Changes a trip's accommodation, and expects the watch to find exactly that.
    private func expectFound(_ watch: AccommodationWatch, _ store: UserStore, _ number: Int) throws {
        var tent = try #require(try store.all(LivingAccommodation.self).first)
        tent.address = "pitch \(number)"
        try store.save(tent, author: "app")
        var found: AccommodationWatch.Changes?
        try watch.look(at: store) { found = $0 }
        #expect(found?.trips == [Trips.camping] && found?.isStartedOver == false)
        found = nil
        try watch.look(at: store) { found = $0 }
        #expect(found == nil)
    }

    private func expectTheLaws(_ store: UserStore) throws {
        let twin = Trip(name: "Camping", destination: "x", startDate: Trips.day(0), endDate: Trips.day(3))
        let error = #expect(throws: HabitStoreError.self) { try store.save(twin) }
        #expect(error?.code == .uniqueViolation)
        #expect(try store.fetch(BusinessTrip.self) == [Trips.conference])
    }

    @Test func theTokenOfAWatchMeansTheSameAtEachStageAndAfterTheKillSwitch() throws {
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try Trips.fill(store)
        let watch = AccommodationWatch(path: user.folder.path("token"))
        try watch.look(at: store) { _ in }
        for (number, stage) in Stage.allCases.enumerated() {
            try bring(store, to: stage)
            #expect(try store.stage() == stage)
            try expectFound(watch, store, number)
            try expectTheLaws(store)
        }
        #expect(try store.engine() == .lmdb)
        #expect(try store.verify().verdict != .mismatch)
        try user.want("complete", kill: true)
        stores.reloadFlags()
        #expect(try store.applyKill())
        #expect(try store.engine() == .sqlite)
        try expectFound(watch, store, 100)
        try expectTheLaws(store)
    }

    @Test(arguments: [Stage.dualwrite, .shadow, .live, .rampdown])
    func killedTripsAreAllOnSQLite(_ stage: Stage) throws {
        let store = try stores.store(for: "alice")
        defer { store.close() }
        try Trips.fill(store)
        try bring(store, to: stage)
        let last = PersonalTrip(name: "Last", destination: "Oslo", startDate: Trips.day(50), endDate: Trips.day(51))
        try store.save(last)
        try user.want(stage.rawValue, kill: true)
        stores.reloadFlags()
        #expect(try store.fetch(PersonalTrip.self, sortBy: [SortDescriptor(\.startDate)]) == [Trips.reunion, last])
        #expect(try store.stage() == .off)
        #expect(try store.engine() == .sqlite)
    }
}
