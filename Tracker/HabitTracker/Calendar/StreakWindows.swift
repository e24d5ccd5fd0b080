import Foundation

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
