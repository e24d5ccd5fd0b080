import Foundation
import HabitStoreMacros

/// A trip, of any kind. ``PersonalTrip`` and ``BusinessTrip`` correspond to subclasses in SwiftData.
@Model public struct Trip {
    /// The kind of a trip.
    public enum Kind: String, AttributeEnum, Codable, Sendable {
        /// Of no particular kind.
        case plain
        /// A ``PersonalTrip``.
        case personal
        /// A ``BusinessTrip``.
        case business
    }

    /// The name of the trip.
    @Attribute(.preserveValueOnDeletion) public var name: String
    /// Where it goes.
    public var destination: String
    /// Its first day.
    @Attribute(.preserveValueOnDeletion) public var startDate: Date
    /// Its last day.
    @Attribute(.preserveValueOnDeletion) public var endDate: Date
    /// The kind of the trip, which ``PersonalTrip`` and ``BusinessTrip`` set.
    public internal(set) var kind = Kind.plain
    /// The reason of a personal trip; nil for other kinds.
    var reason: PersonalTrip.Reason?
    /// The daily allowance of a business trip; nil for other kinds.
    var perdiem: Double?

    /// Things to do on the trip, ordered by identifier. Readable inside a transaction and inside predicates.
    @ToMany(inverse: \BucketListItem.trip, deleteRule: .cascade) public var bucketList: [BucketListItem]

    /// The trip's accommodation: at most one record, because ``LivingAccommodation/tripID`` is unique. Readable inside a transaction and inside
    /// predicates.
    @ToMany(inverse: \LivingAccommodation.trip, deleteRule: .cascade) public var accommodations: [LivingAccommodation]

    /// The trip's accommodation. Readable inside a transaction.
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
