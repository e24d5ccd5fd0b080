import Foundation
import HabitStore

/// A trip for oneself.
public struct PersonalTrip: ModelSubtype {
    /// Why it is made.
    public enum Reason: String, AttributeEnum, Codable, Sendable {
        /// To see the family.
        case family
        /// To meet old friends.
        case reunion
        /// To rest.
        case wellness
        /// Nobody has said.
        case unknown
    }

    /// The trip.
    public var base: Trip

    /// Trips of this kind.
    public static let kind: Filter<Trip> = {
        let personal = Trip.Kind.personal
        return Filter(#Predicate { $0.kind == personal })
    }()

    /// A trip as one for oneself; nil where it is of another kind.
    public init?(_ base: Trip) {
        guard base.kind == .personal else { return nil }
        self.base = base
    }

    /// Makes a trip for oneself.
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

    /// Why it is made.
    public var reason: Reason {
        get { base.reason ?? .unknown }
        set { base.reason = newValue }
    }
}
