import Foundation
import HabitStore

/// A trip for an employer.
public struct BusinessTrip: ModelSubtype {
    /// The trip.
    public var base: Trip

    /// Matches trips of this kind.
    public static let kind: Filter<Trip> = {
        let business = Trip.Kind.business
        return Filter(#Predicate { $0.kind == business })
    }()

    /// A trip as a business trip; nil if it is of another kind.
    public init?(_ base: Trip) {
        guard base.kind == .business else { return nil }
        self.base = base
    }

    /// Makes a business trip.
    public init(
        id: UUID = UUID(),
        name: String,
        destination: String,
        startDate: Date,
        endDate: Date,
        perdiem: Double = 0
    ) {
        base = Trip(id: id, name: name, destination: destination, startDate: startDate, endDate: endDate)
        base.kind = .business
        base.perdiem = perdiem
    }

    /// The allowance for each day.
    public var perdiem: Double {
        get { base.perdiem ?? 0 }
        set { base.perdiem = newValue }
    }
}
