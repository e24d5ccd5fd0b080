/// The unit of a streak: the schedule's periods.
public enum StreakUnit: Hashable, Sendable {
    /// Days, for a schedule with a period of one day.
    case day
    /// Periods of this many days.
    case period(days: Int)

    /// The unit of a schedule's streaks.
    public init(_ schedule: HabitSchedule) {
        self = schedule.periodDays == 1 ? .day : .period(days: schedule.periodDays)
    }

    /// A count with its unit: "1 day", "3 weeks", "2 periods of 30 days".
    public func phrase(_ count: Int) -> String {
        let plural = count == 1 ? "" : "s"
        return switch self {
        case .day: "\(count) day\(plural)"
        case .period(days: 7): "\(count) week\(plural)"
        case .period(let days): "\(count) period\(plural) of \(days) days"
        }
    }
}
