import Foundation
import HabitStore

/// Something to be done on a trip.
public struct BucketListItem: PersistentModel {
    /// The identity.
    public var id: UUID
    /// What it is.
    public var title: String
    /// More about it.
    public var details: String
    /// Whether a place is reserved.
    public var hasReservation: Bool
    /// Whether it is going to be done.
    public var isInPlan: Bool
    /// The identifier of the trip.
    public var tripID: UUID?

    /// Makes an item.
    public init(
        id: UUID = UUID(),
        title: String,
        details: String = "",
        hasReservation: Bool = false,
        isInPlan: Bool = false,
        tripID: UUID?
    ) {
        self.id = id
        self.title = title
        self.details = details
        self.hasReservation = hasReservation
        self.isInPlan = isInPlan
        self.tripID = tripID
    }

    /// The trip. Readable inside a transaction and inside predicates.
    public var trip: Trip? { RelationshipScope.one(\BucketListItem.trip, tripID) }

    /// The declaration.
    public static let entity = EntityDescription(
        BucketListItem.self,
        attributes: [
            .id(\BucketListItem.id),
            .attribute("title", \BucketListItem.title),
            .attribute("details", \BucketListItem.details),
            .attribute("hasReservation", \BucketListItem.hasReservation),
            .attribute("isInPlan", \BucketListItem.isInPlan),
            .attribute("tripID", \BucketListItem.tripID),
        ],
        relationships: [
            .toOne("trip", \BucketListItem.trip, through: "tripID", destination: "Trip", inverse: "bucketList")
        ]
    )

    /// Reads the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        self.init(
            id: try row.nextUUID(),
            title: try row.nextString(),
            details: try row.nextString(),
            hasReservation: try row.nextBool(),
            isInPlan: try row.nextBool(),
            tripID: try row.nextOptionalUUID()
        )
    }

    /// Writes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(title)
        row.append(details)
        row.append(hasReservation)
        row.append(isInPlan)
        row.append(tripID)
    }
}
