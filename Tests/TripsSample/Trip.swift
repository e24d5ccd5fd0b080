import Foundation
import HabitStoreMacros

/// A trip, of any kind. The kinds ``PersonalTrip`` and ``BusinessTrip`` are what subclasses are in SwiftData.
@Model public struct Trip {
    /// What kind of trip it is.
    public enum Kind: String, AttributeEnum, Codable, Sendable {
        /// Of no particular kind.
        case plain
        /// A ``PersonalTrip``.
        case personal
        /// A ``BusinessTrip``.
        case business
    }

    /// What it is called.
    @Attribute(.preserveValueOnDeletion) public var name: String
    /// Where it goes.
    public var destination: String
    /// Its first day.
    @Attribute(.preserveValueOnDeletion) public var startDate: Date
    /// Its last day.
    @Attribute(.preserveValueOnDeletion) public var endDate: Date
    /// What kind it is; set by the kinds themselves.
    public internal(set) var kind = Kind.plain
    /// Why a personal trip is made; nil for other kinds.
    var reason: PersonalTrip.Reason?
    /// What a business trip pays for each day; nil for other kinds.
    var perdiem: Double?

    /// What is to be done on it, ascending by identifier. Readable inside a transaction and inside predicates.
    @ToMany(inverse: \BucketListItem.trip, deleteRule: .cascade) public var bucketList: [BucketListItem]

    /// Where its nights are spent: at most one record, since ``LivingAccommodation/tripID`` is unique. Readable inside a
    /// transaction and inside predicates.
    @ToMany(inverse: \LivingAccommodation.trip, deleteRule: .cascade) public var accommodations: [LivingAccommodation]

    /// Where its nights are spent. Readable inside a transaction.
    public var livingAccommodation: LivingAccommodation? { accommodations.first }

    #Index<Trip>([\.name], [\.startDate], [\.endDate], [\.name, \.startDate, \.endDate], [\.kind, \.startDate])
    #Unique<Trip>([\.name, \.startDate, \.endDate])

    /// Makes a trip of no particular kind.
    public init(id: UUID = UUID(), name: String, destination: String, startDate: Date, endDate: Date) {
        self.id = id
        self.name = name
        self.destination = destination
        self.startDate = startDate
        self.endDate = endDate
    }
}
