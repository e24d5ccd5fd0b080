import Foundation
import HabitStoreMacros

/// The accommodation of a trip.
@Model public struct LivingAccommodation {
    /// The name of the place.
    public var placeName: String
    /// Its address.
    @Attribute(initial: "") public var address: String
    /// Whether it is booked.
    @Attribute(initial: false) public var isConfirmed: Bool
    /// The identifier of the trip, which has at most one accommodation. Tombstones in the history preserve it.
    @Attribute(.unique, .preserveValueOnDeletion) public var tripID: UUID?
    /// The trip. Readable inside a transaction and inside predicates.
    @ToOne public var trip: Trip?
}
