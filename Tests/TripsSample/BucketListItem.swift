import Foundation
import HabitStoreMacros

/// Something to be done on a trip.
@Model public struct BucketListItem {
    /// What it is.
    public var title: String
    /// More about it.
    @Attribute(initial: "") public var details: String
    /// Whether a place is reserved.
    @Attribute(initial: false) public var hasReservation: Bool
    /// Whether it is going to be done.
    @Attribute(initial: false) public var isInPlan: Bool
    /// The trip. Readable inside a transaction and inside predicates.
    @ToOne public var trip: Trip?
}
