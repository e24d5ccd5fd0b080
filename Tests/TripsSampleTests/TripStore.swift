import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting
import TripsSample

/// The stores on which the sample is tested.
enum TripStore: String, CaseIterable, CustomStringConvertible {
    case memory, sqlite, lmdb

    var description: String { rawValue }

    func open(in folder: TemporaryFolder) throws -> any HabitStore & MaintainableStore & ReplicableStore {
        switch self {
        case .memory: return try InMemoryHabitStore(schema: TripSchema.current)
        case .sqlite: return try SQLiteHabitStore(path: folder.path("trips.sqlite"), schema: TripSchema.current)
        case .lmdb: return try LMDBHabitStore(path: folder.path("trips.lmdb"), schema: TripSchema.current)
        }
    }
}

/// Sample trips.
enum Trips {
    static func day(_ number: Int) -> Date {
        Date(timeIntervalSinceReferenceDate: 790_000_000 + Double(number) * 86_400)
    }

    static let camping = Trip(name: "Camping", destination: "Yosemite", startDate: day(0), endDate: day(3))
    static let reunion = PersonalTrip(
        name: "Reunion",
        destination: "Porto",
        startDate: day(10),
        endDate: day(14),
        reason: .reunion
    )
    static let conference = BusinessTrip(
        name: "Conference",
        destination: "San Jose",
        startDate: day(20),
        endDate: day(24),
        perdiem: 75.5
    )

    static func fill(_ store: any HabitStore) throws {
        try store.write(author: "app") { transaction in
            try transaction.save(camping)
            try transaction.save(reunion)
            try transaction.save(conference)
            try transaction.save(BucketListItem(title: "Half Dome", tripID: camping.id))
            try transaction.save(BucketListItem(title: "Keynote", isInPlan: true, tripID: conference.id))
            try transaction.save(LivingAccommodation(placeName: "Tent", tripID: camping.id))
        }
    }
}
