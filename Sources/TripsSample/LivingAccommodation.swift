import Foundation
import HabitStore

/// Where the nights of a trip are spent.
public struct LivingAccommodation: PersistentModel {
    /// The identity.
    public var id: UUID
    /// What the place is called.
    public var placeName: String
    /// Where it is.
    public var address: String
    /// Whether it is booked.
    public var isConfirmed: Bool
    /// The identifier of the trip; a trip has one such place at most. Who looks for deletions in the history finds it there.
    public var tripID: UUID?

    /// Makes a place.
    public init(id: UUID = UUID(), placeName: String, address: String = "", isConfirmed: Bool = false, tripID: UUID?) {
        self.id = id
        self.placeName = placeName
        self.address = address
        self.isConfirmed = isConfirmed
        self.tripID = tripID
    }

    /// The trip. Readable inside a transaction and inside predicates.
    public var trip: Trip? { RelationshipScope.one(\LivingAccommodation.trip, tripID) }

    /// The declaration.
    public static let entity = EntityDescription(
        LivingAccommodation.self,
        attributes: [
            .id(\LivingAccommodation.id),
            .attribute("placeName", \LivingAccommodation.placeName),
            .attribute("address", \LivingAccommodation.address),
            .attribute("isConfirmed", \LivingAccommodation.isConfirmed),
            .attribute("tripID", \LivingAccommodation.tripID, [.unique, .preserveValueOnDeletion]),
        ],
        relationships: [
            .toOne("trip", \LivingAccommodation.trip, through: "tripID", destination: "Trip", inverse: "accommodations")
        ]
    )

    /// Reads the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        self.init(
            id: try row.nextUUID(),
            placeName: try row.nextString(),
            address: try row.nextString(),
            isConfirmed: try row.nextBool(),
            tripID: try row.nextOptionalUUID()
        )
    }

    /// Writes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(placeName)
        row.append(address)
        row.append(isConfirmed)
        row.append(tripID)
    }
}
