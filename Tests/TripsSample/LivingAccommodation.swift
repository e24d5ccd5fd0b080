import Foundation
import HabitStoreMacros

/// Where the nights of a trip are spent.
@Model public struct LivingAccommodation {
    /// What the place is called.
    public var placeName: String
    /// Where it is.
    @Attribute(initial: "") public var address: String
    /// Whether it is booked.
    @Attribute(initial: false) public var isConfirmed: Bool
    /// The identifier of the trip; a trip has one such place at most. Who looks for deletions in the history finds it there.
    @Attribute(.unique, .preserveValueOnDeletion) public var tripID: UUID?
    /// The trip. Readable inside a transaction and inside predicates.
    @ToOne public var trip: Trip?
}
