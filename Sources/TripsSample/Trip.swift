import Foundation
import HabitStore

/// A trip, of any kind. The kinds ``PersonalTrip`` and ``BusinessTrip`` are what subclasses are in SwiftData.
public struct Trip: PersistentModel {
    /// What kind of trip it is.
    public enum Kind: String, AttributeEnum, Codable, Sendable {
        /// Of no particular kind.
        case plain
        /// A ``PersonalTrip``.
        case personal
        /// A ``BusinessTrip``.
        case business
    }

    /// The identity.
    public var id: UUID
    /// What it is called.
    public var name: String
    /// Where it goes.
    public var destination: String
    /// Its first day.
    public var startDate: Date
    /// Its last day.
    public var endDate: Date
    /// What kind it is; set by the kinds themselves.
    public internal(set) var kind: Kind
    /// Why a personal trip is made; nil for other kinds.
    var reason: PersonalTrip.Reason?
    /// What a business trip pays for each day; nil for other kinds.
    var perdiem: Double?

    /// Makes a trip of no particular kind.
    public init(id: UUID = UUID(), name: String, destination: String, startDate: Date, endDate: Date) {
        self.id = id
        self.name = name
        self.destination = destination
        self.startDate = startDate
        self.endDate = endDate
        kind = .plain
    }

    /// What is to be done on it, ascending by identifier. Readable inside a transaction and inside predicates.
    public var bucketList: [BucketListItem] { RelationshipScope.many(\Trip.bucketList, of: id) }

    /// Where its nights are spent: at most one record, since ``LivingAccommodation/tripID`` is unique. Readable inside a
    /// transaction and inside predicates.
    public var accommodations: [LivingAccommodation] { RelationshipScope.many(\Trip.accommodations, of: id) }

    /// Where its nights are spent. Readable inside a transaction.
    public var livingAccommodation: LivingAccommodation? { accommodations.first }

    /// The declaration.
    public static let entity = EntityDescription(
        Trip.self,
        attributes: [
            .id(\Trip.id),
            .attribute("name", \Trip.name, .preserveValueOnDeletion),
            .attribute("destination", \Trip.destination),
            .attribute("startDate", \Trip.startDate, .preserveValueOnDeletion),
            .attribute("endDate", \Trip.endDate, .preserveValueOnDeletion),
            .attribute("kind", \Trip.kind, default: .plain),
            .attribute("reason", \Trip.reason),
            .attribute("perdiem", \Trip.perdiem),
        ],
        relationships: [
            .toMany(
                "bucketList",
                \Trip.bucketList,
                destination: "BucketListItem",
                inverse: "trip",
                deleteRule: .cascade
            ),
            .toMany(
                "accommodations",
                \Trip.accommodations,
                destination: "LivingAccommodation",
                inverse: "trip",
                deleteRule: .cascade
            ),
        ],
        indexes: [
            .index(\Trip.name), .index(\Trip.startDate), .index(\Trip.endDate),
            .index(\Trip.name, \Trip.startDate, \Trip.endDate), .index(\Trip.kind, \Trip.startDate),
        ],
        uniqueness: [.unique(\Trip.name, \Trip.startDate, \Trip.endDate)]
    )

    /// Reads the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        name = try row.nextString()
        destination = try row.nextString()
        startDate = try row.nextDate()
        endDate = try row.nextDate()
        kind = try row.next()
        reason = try row.next()
        perdiem = try row.nextOptionalDouble()
    }

    /// Writes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
        row.append(destination)
        try row.append(startDate)
        try row.append(endDate)
        try row.append(converting: kind)
        try row.append(converting: reason)
        try row.append(perdiem)
    }
}
