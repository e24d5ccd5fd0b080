import Foundation

/// The windows into which a schedule cuts time, numbered from the one that begins on the anchor's day.
struct StreakWindows {
    let periodDays: Int
    let anchorDay: Int
    let timeZone: TimeZone

    /// The number of the window that a day is in; negative before the anchor.
    func index(of stamp: DayStamp) -> Int {
        (stamp.dayNumber - anchorDay).floorDivided(by: periodDays)
    }

    /// Whether the window of `later` directly follows that of `earlier`, passing over a window that had no day at all.
    ///
    /// Only a window of one day can be without a day: no zone has skipped two dates in a row. The zone is asked only
    /// when the wall clock went forward by a whole day between the two, as it then must have.
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
