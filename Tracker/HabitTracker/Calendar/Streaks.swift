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
