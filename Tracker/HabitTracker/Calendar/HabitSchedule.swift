/// How often to do a habit: a number of times in each period of a number of days.
///
/// 1 in 1 is daily, 3 in 7 is three times in seven days, 2 in 30 is twice in thirty days. Times may exceed days: 8 in 1 is eight times a
/// day.
public struct HabitSchedule: Hashable, Sendable {
    /// Once a day.
    public static let daily = HabitSchedule(uncheckedTimes: 1, days: 1)

    /// The number of entries that a period demands; at least 1.
    public let timesPerPeriod: Int
    /// The length of a period in calendar days; at least 1.
    public let periodDays: Int

    /// Creates a schedule.
    ///
    /// - Throws: ``HabitTrackingError/invalidSchedule(timesPerPeriod:periodDays:)`` if either number is below 1.
    public init(timesPerPeriod: Int, periodDays: Int) throws(HabitTrackingError) {
        guard timesPerPeriod >= 1, periodDays >= 1 else {
            throw .invalidSchedule(timesPerPeriod: timesPerPeriod, periodDays: periodDays)
        }
        self.init(uncheckedTimes: timesPerPeriod, days: periodDays)
    }

    private init(uncheckedTimes: Int, days: Int) {
        timesPerPeriod = uncheckedTimes
        periodDays = days
    }
}

extension HabitSchedule: CustomStringConvertible {
    /// The schedule in words: "once a day", "3 times in 7 days".
    public var description: String {
        let times = timesPerPeriod == 1 ? "once" : "\(timesPerPeriod) times"
        return periodDays == 1 ? "\(times) a day" : "\(times) in \(periodDays) days"
    }
}
