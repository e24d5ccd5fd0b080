import Foundation
import HabitStore
import HabitStoreTesting
import Testing
import TripsSample

/// Apple's trips on all three stores.
struct TripTests {
    @Test func theSchemaIsSound() throws { try TripSchema.current.validate() }

    @Test(arguments: TripStore.allCases)
    func aFetchOfTripsGivesAllKindsAndOneOfAKindOnlyThese(_ kind: TripStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder)
        defer { store.close() }
        try Trips.fill(store)
        let all = try store.fetch(FetchDescriptor(sortBy: [SortDescriptor(\Trip.startDate)]))
        #expect(all.map(\.name) == ["Camping", "Reunion", "Conference"])
        #expect(all.map { $0.is(PersonalTrip.self) } == [false, true, false])
        #expect(all[2].as(BusinessTrip.self)?.perdiem == 75.5)
        #expect(all[0].as(BusinessTrip.self) == nil)
        #expect(try store.fetch(PersonalTrip.self) == [Trips.reunion])
        #expect(
            try store.fetch(BusinessTrip.self, predicate: #Predicate { $0.bucketList.contains { $0.isInPlan } }).count
                == 1
        )
        #expect(try store.fetch(BusinessTrip.self, predicate: #Predicate { $0.destination == "Porto" }).isEmpty)
        #expect(try store.fetchCount(PersonalTrip.self) == 1)
    }

    @Test(arguments: TripStore.allCases)
    func aTripThatIsChangedAndSavedAsATripStaysOfItsKind(_ kind: TripStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder)
        defer { store.close() }
        try Trips.fill(store)
        var trip = try #require(try store.model(Trip.self, id: Trips.conference.id))
        trip.destination = "Cupertino"
        try store.save(trip)
        var business = try #require(try store.fetch(BusinessTrip.self).first)
        #expect(business.perdiem == 75.5 && business.destination == "Cupertino")
        business.perdiem = 80
        business.endDate = Trips.day(25)
        try store.save(business)
        #expect(try store.model(Trip.self, id: trip.id)?.as(BusinessTrip.self)?.perdiem == 80)
    }

    @Test(arguments: TripStore.allCases)
    func twoTripsOfOneNameAndTimeAreRefusedWhateverTheirKinds(_ kind: TripStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder)
        defer { store.close() }
        try Trips.fill(store)
        let twin = PersonalTrip(
            name: "Conference",
            destination: "elsewhere",
            startDate: Trips.day(20),
            endDate: Trips.day(24)
        )
        let error = #expect(throws: HabitStoreError.self) { try store.save(twin) }
        #expect(error?.code == .uniqueViolation)
        #expect(error?.location.id == Trips.conference.id)
        #expect(error?.message.contains("name, startDate and endDate") == true)
        var later = twin
        later.endDate = Trips.day(26)
        try store.save(later)
        #expect(try store.fetchCount(FetchDescriptor<Trip>()) == 4)
    }

    @Test(arguments: TripStore.allCases)
    func theIndexesOfTheSampleAnswerItsQuestions(_ kind: TripStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder)
        defer { store.close() }
        try Trips.fill(store)
        let (name, start, end) = ("Reunion", Trips.day(10), Trips.day(14))
        let found = try store.fetch(
            FetchDescriptor<Trip>(
                predicate: #Predicate { $0.name == name && $0.startDate == start && $0.endDate == end }
            )
        )
        #expect(found.map(\.id) == [Trips.reunion.id])
        guard kind != .memory else { return }
        let plan = try store.explain(
            FetchDescriptor<Trip>(
                predicate: #Predicate { $0.name == name && $0.startDate == start && $0.endDate == end }
            )
        )
        #expect(plan.method == .native && plan.accessPath.contains("name, startDate, endDate"), "\(plan.accessPath)")
        let upcoming = try store.explain(
            FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.startDate)]).only(BusinessTrip.self)
        )
        #expect(upcoming.accessPath.contains("kind, startDate") && upcoming.orderIsNative, "\(upcoming.accessPath)")
    }

    @Test(arguments: TripStore.allCases)
    func aDeletedTripLeavesItsNameAndDatesAndTakesItsListAlong(_ kind: TripStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder)
        defer { store.close() }
        try Trips.fill(store)
        let before = try store.currentToken()
        #expect(try store.delete(Trips.camping, author: "app"))
        let changes = try store.fetchHistory(after: before).flatMap(\.changes)
        #expect(Set(changes.map(\.entity)) == ["Trip", "BucketListItem", "LivingAccommodation"])
        let tombstone = changes.lazy.compactMap { change -> [String: Value]? in
            guard change.entity == "Trip", case .delete(let tombstone) = change.kind else { return nil }
            return tombstone
        }.first
        #expect(tombstone?["name"] == .string("Camping"))
        #expect(tombstone?["startDate"] == .date(Trips.day(0)) && tombstone?["endDate"] == .date(Trips.day(3)))
        #expect(tombstone?["destination"] == nil)
        #expect(try store.all(LivingAccommodation.self).isEmpty)
        #expect(try store.all(BucketListItem.self).map(\.title) == ["Keynote"])
    }

    @Test(arguments: TripStore.allCases)
    func aTripHasOneAccommodationAtMost(_ kind: TripStore) throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(in: folder)
        defer { store.close() }
        try Trips.fill(store)
        let second = LivingAccommodation(placeName: "Hotel", tripID: Trips.camping.id)
        let error = #expect(throws: HabitStoreError.self) { try store.save(second) }
        #expect(error?.code == .uniqueViolation)
        let name = try store.read { try $0.model(Trip.self, id: Trips.camping.id)?.livingAccommodation?.placeName }
        #expect(name == "Tent")
    }
}
