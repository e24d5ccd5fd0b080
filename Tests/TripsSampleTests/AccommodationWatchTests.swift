import Foundation
import HabitStore
import HabitStoreTesting
import Testing
import TripsSample

/// The consumer of the history, with its token in a file.
struct AccommodationWatchTests {
    private func names(_ watch: AccommodationWatch, _ store: some HabitStore) throws -> [String]? {
        var found: [String]?
        try watch.look(at: store) { found = $0.trips.map(\.name).sorted() }
        return found
    }

    @Test(arguments: TripStore.allCases)
    func eachChangeIsFoundOnceWhoeverOpensTheWatch(_ kind: TripStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder)
        defer { store.close() }
        try Trips.fill(store)
        let path = folder.path("token")
        // Trips from before the first look are not news.
        #expect(try names(AccommodationWatch(path: path), store) == nil)
        try store.save(Trip(name: "Weekend", destination: "Rome", startDate: Trips.day(40), endDate: Trips.day(41)))
        #expect(try names(AccommodationWatch(path: path), store) == nil)
        var hotel = LivingAccommodation(placeName: "Hotel", tripID: Trips.reunion.id)
        try store.save(hotel)
        #expect(try names(AccommodationWatch(path: path), store) == ["Reunion"])
        #expect(try names(AccommodationWatch(path: path), store) == nil)
        hotel.isConfirmed = true
        try store.save(hotel)
        let tent = try #require(try store.all(LivingAccommodation.self).first { $0.placeName == "Tent" })
        try store.delete(tent)
        #expect(try names(AccommodationWatch(path: path), store) == ["Camping", "Reunion"])
    }

    @Test func aLookThatFailsIsDoneAgain() throws {
        struct Failed: Error {}
        let folder = try TemporaryFolder()
        let store = try TripStore.memory.open(in: folder)
        try Trips.fill(store)
        let watch = AccommodationWatch(path: folder.path("token"))
        _ = try names(watch, store)
        try store.save(LivingAccommodation(placeName: "Hotel", tripID: Trips.reunion.id))
        #expect(throws: Failed.self) { try watch.look(at: store) { _ in throw Failed() } }
        #expect(try names(watch, store) == ["Reunion"])
        #expect(try names(watch, store) == nil)
    }

    @Test func onlyTheAuthorsWhoAreLookedForCount() throws {
        let folder = try TemporaryFolder()
        let store = try TripStore.memory.open(in: folder)
        try Trips.fill(store)
        let watch = AccommodationWatch(path: folder.path("token"), author: "widget")
        _ = try names(watch, store)
        try store.save(LivingAccommodation(placeName: "Hotel", tripID: Trips.reunion.id), author: "app")
        try store.save(LivingAccommodation(placeName: "Inn", tripID: Trips.conference.id), author: "widget")
        #expect(try names(watch, store) == ["Conference"])
    }

    @Test(arguments: TripStore.allCases)
    func whatWasForgottenMeanwhileMakesItStartOverAndSaySo(_ kind: TripStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder)
        defer { store.close() }
        try Trips.fill(store)
        let watch = AccommodationWatch(path: folder.path("token"))
        _ = try names(watch, store)
        try store.save(LivingAccommodation(placeName: "Hotel", tripID: Trips.reunion.id))
        try store.save(LivingAccommodation(placeName: "Inn", tripID: Trips.conference.id))
        let token = try store.currentToken()
        try store.write { try $0.pruneHistory(through: token) }
        var found: AccommodationWatch.Changes?
        try watch.look(at: store) { found = $0 }
        #expect(found?.isStartedOver == true)
        #expect(found?.trips.count == 3)
        #expect(try names(watch, store) == nil)
        // Another store's token means nothing here.
        let other = try InMemoryHabitStore(schema: TripSchema.current)
        try Trips.fill(other)
        try watch.look(at: other) { found = $0 }
        #expect(found?.isStartedOver == true && found?.trips.map(\.name) == ["Camping"])
    }

    @Test func aFileThatHoldsNoTokenIsOneClearError() throws {
        let folder = try TemporaryFolder()
        let store = try TripStore.memory.open(in: folder)
        let path = folder.path("token")
        for text in ["", "{}", "[1]", "{\"lineage\": 5, \"token\": 1}", "\u{0}"] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let error = #expect(throws: HabitStoreError.self) {
                try AccommodationWatch(path: path).look(at: store) { _ in }
            }
            #expect(error?.code == .corrupt)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(text.utf8))
        }
    }
}
