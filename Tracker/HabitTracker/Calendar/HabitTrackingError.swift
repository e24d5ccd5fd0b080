import Foundation

/// What the habit computations refuse, and what to give them instead.
///
/// The texts hold numbers that the caller passed in, never a person's names or notes.
public enum HabitTrackingError: Error, Hashable, Sendable {
    /// A schedule needs at least one time in a period of at least one day.
    case invalidSchedule(timesPerPeriod: Int, periodDays: Int)
    /// The number of days asked for is below one or above ``HabitCalendar/maximumDays``.
    case invalidDayCount(Int)
    /// The date is not a number, infinite, or outside ``LocalDay/supportedNumbers``.
    case dateOutOfRange
}

extension HabitTrackingError: CustomStringConvertible {
    /// One sentence: what is wrong and what to do.
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
    /// The same sentence as ``description``.
    public var errorDescription: String? { description }
}
