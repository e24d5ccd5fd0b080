import Foundation
import HabitStoreMacros

/// Something to do on a trip.
@Model public struct BucketListItem {
    /// The name of the item.
    public var title: String
    /// More about it.
    @Attribute(initial: "") public var details: String
    /// Whether a place is reserved.
    @Attribute(initial: false) public var hasReservation: Bool
    /// Whether it is planned.
    @Attribute(initial: false) public var isInPlan: Bool
    /// The trip. Readable inside a transaction and inside predicates.
    @ToOne public var trip: Trip?
}
