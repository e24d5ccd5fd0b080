import Foundation
import HabitStore

/// A personal trip.
public struct PersonalTrip: ModelSubtype {
    /// The reason of a personal trip.
    public enum Reason: String, AttributeEnum, Codable, Sendable {
        /// To see the family.
        case family
        /// To meet old friends.
        case reunion
        /// To rest.
        case wellness
        /// Not given.
        case unknown
    }

    /// The trip.
    public var base: Trip

    /// Matches trips of this kind.
    public static let kind: Filter<Trip> = {
        let personal = Trip.Kind.personal
        return Filter(#Predicate { $0.kind == personal })
    }()

    /// A trip as a personal one; nil if it is of another kind.
    public init?(_ base: Trip) {
        guard base.kind == .personal else { return nil }
        self.base = base
    }

    /// Makes a personal trip.
    public init(
        id: UUID = UUID(),
        name: String,
        destination: String,
        startDate: Date,
        endDate: Date,
        reason: Reason = .unknown
    ) {
        base = Trip(id: id, name: name, destination: destination, startDate: startDate, endDate: endDate)
        base.kind = .personal
        base.reason = reason
    }

    /// The reason of the trip.
    public var reason: Reason {
        get { base.reason ?? .unknown }
        set { base.reason = newValue }
    }
}
