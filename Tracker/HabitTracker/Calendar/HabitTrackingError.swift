import Foundation

/// An invalid argument of the habit computations.
///
/// Descriptions contain numbers passed by the caller, but never a person's names or notes.
public enum HabitTrackingError: Error, Hashable, Sendable {
    /// A schedule needs at least one time in a period of at least one day.
    case invalidSchedule(timesPerPeriod: Int, periodDays: Int)
    /// The requested number of days is below one or above ``HabitCalendar/maximumDays``.
    case invalidDayCount(Int)
    /// The date is NaN, infinite, or outside ``LocalDay/supportedNumbers``.
    case dateOutOfRange
}

extension HabitTrackingError: CustomStringConvertible {
    /// One sentence with the error and its remedy.
    public var description: String {
        switch self {
        case .invalidSchedule(let times, let days):
            "A schedule of \(times) times in \(days) days cannot be kept: both numbers must be 1 or more."
        case .invalidDayCount(let days):
            "\(days) days cannot be listed: ask for 1 to \(HabitCalendar.maximumDays) days."
        case .dateOutOfRange:
            "The date lies outside the calendar: give a date within 200,000 years of 1970."
        }
    }
}

extension HabitTrackingError: LocalizedError {
    /// Equals ``description``.
    public var errorDescription: String? { description }
}
