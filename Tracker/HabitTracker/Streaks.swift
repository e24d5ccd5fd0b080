import Foundation

/// The number of consecutive completed periods of a schedule: now, and at best.
///
/// **Days** are dates on the wall clock of the calendar's time zone (``LocalDay``); only the calendar's time zone matters here. An entry
/// belongs to the day that the clock shows at its date.
///
/// **Windows.** Time is divided into windows of `periodDays` dates each. If `periodDays` is 1, each day is a window. Otherwise one window
/// begins on the anchor's day, and the others follow and precede it without gaps; they do not move as days go by. Use the habit's creation
/// date as the anchor. Without one, the day of the earliest counted entry is the anchor, and adding an older entry later moves all windows.
///
/// **Kept** is a window with at least `timesPerPeriod` entries; several on one day all count. A streak is a run of consecutive kept
/// windows. A window none of whose dates existed in the zone (a date skipped at the date line) is ignored: it neither breaks a streak nor
/// counts in it.
///
/// **The current streak** is the run that ends with the present window, which contains the day of `now`, if that is already kept, and
/// otherwise the run that ends with the window before: an unfinished window breaks nothing until it is over. The longest streak is the
/// longest run, including the current one.
///
/// **Not counted** in either streak are entries on days after the day of `now` (an entry later today counts, since only the day matters),
/// and dates without a valid day (NaN, infinite, beyond ``LocalDay/supportedNumbers``).
public struct Streaks: Hashable, Sendable {
    /// The run of kept windows that has not been broken yet.
    public let current: Int
    /// The longest run of kept windows; never below ``current``.
    public let longest: Int
    /// The unit of both.
    public let unit: StreakUnit

    /// Computes the streaks of a habit.
    ///
    /// Takes one time zone query per entry and a sort, O(n log n) in the number of entries; how far apart they are does not matter.
    ///
    /// - Parameters:
    ///   - entryDates: the dates of the completions, in any order.
    ///   - schedule: the schedule of the habit.
    ///   - calendar: provides the time zone.
    ///   - now: the present instant.
    ///   - anchor: a date on whose day a window begins; without effect for a period of one day.
    public static func compute(
        entryDates: some Sequence<Date>,
        schedule: HabitSchedule,
        calendar: Calendar,
        now: Date,
        anchor: Date? = nil
    ) -> Streaks {
        let timeZone = calendar.timeZone
        let unit = StreakUnit(schedule)
        guard let today = DayStamp(now, in: timeZone) else { return Streaks(current: 0, longest: 0, unit: unit) }
        var stamps: [DayStamp] = []
        stamps.reserveCapacity(entryDates.underestimatedCount)
        for date in entryDates {
            guard let stamp = DayStamp(date, in: timeZone), stamp.dayNumber <= today.dayNumber else { continue }
            stamps.append(stamp)
        }
        stamps.sort { $0.dayNumber < $1.dayNumber }
        guard let first = stamps.first else { return Streaks(current: 0, longest: 0, unit: unit) }
        let anchorStamp = anchor.flatMap { DayStamp($0, in: timeZone) } ?? first
        let windows = StreakWindows(
            periodDays: schedule.periodDays,
            anchorDay: anchorStamp.dayNumber,
            timeZone: timeZone
        )
        return runs(of: stamps, timesPerPeriod: schedule.timesPerPeriod, in: windows, today: today, unit: unit)
    }

    /// Finds the runs in the sorted stamps, window by window.
    private static func runs(
        of stamps: [DayStamp],
        timesPerPeriod: Int,
        in windows: StreakWindows,
        today: DayStamp,
        unit: StreakUnit
    ) -> Streaks {
        var longest = 0
        var run = 0
        var lastKept: DayStamp?
        var start = stamps.startIndex
        while start < stamps.endIndex {
            let window = windows.index(of: stamps[start])
            var end = start + 1
            while end < stamps.endIndex, windows.index(of: stamps[end]) == window { end += 1 }
            if end - start >= timesPerPeriod {
                let continues = lastKept.map { windows.isNext(stamps[start], after: $0) } ?? false
                run = continues ? run + 1 : 1
                longest = max(longest, run)
                lastKept = stamps[end - 1]
            }
            start = end
        }
        let isAlive = lastKept.map {
            windows.index(of: $0) == windows.index(of: today) || windows.isNext(today, after: $0)
        }
        return Streaks(current: isAlive == true ? run : 0, longest: longest, unit: unit)
    }
}

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

/// The windows into which a schedule divides time. The window that begins on the anchor's day has index 0.
struct StreakWindows {
    let periodDays: Int
    let anchorDay: Int
    let timeZone: TimeZone

    /// The index of a day's window; negative before the anchor.
    func index(of stamp: DayStamp) -> Int {
        (stamp.dayNumber - anchorDay).floorDivided(by: periodDays)
    }

    /// Whether the window of `later` directly follows that of `earlier`, ignoring a window whose only day was skipped.
    ///
    /// Only a window of one day can lack all its days: no zone has skipped two dates in a row. The zone is queried only if the wall clock
    /// moved forward by a whole day between the two, which a skipped date requires.
    func isNext(_ later: DayStamp, after earlier: DayStamp) -> Bool {
        switch index(of: later) - index(of: earlier) {
        case 1:
            return true
        case 2 where periodDays == 1:
            guard later.offsetSeconds - earlier.offsetSeconds >= DayStamp.secondsPerDate else { return false }
            return LocalDay(number: earlier.dayNumber + 1)?.isSkipped(in: timeZone) ?? false
        default:
            return false
        }
    }
}

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
