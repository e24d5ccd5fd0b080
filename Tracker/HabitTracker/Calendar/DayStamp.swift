import Foundation

/// The day of an instant, found with a single query of the time zone.
///
/// `Calendar.dateComponents` gives the same answer about eight times slower, and on Linux only back to 4713 BC, before which it stays on
/// one date. The offset from UTC is all that is needed: the wall clock (instant plus offset) has 86,400 seconds per date, whatever the
/// length of the real day, because a change to summer time moves the wall clock but does not change its scale.
struct DayStamp: Sendable {
    /// Wall-clock seconds per date. Never a difference of two instants.
    static let secondsPerDate = 86_400

    /// The number of the day; see ``LocalDay/number``.
    let dayNumber: Int
    /// The wall clock's offset from UTC.
    let offsetSeconds: Int

    /// Nil if the date is NaN, infinite, or outside ``LocalDay/supportedNumbers``.
    init?(_ date: Date, in timeZone: TimeZone) {
        // Rounding the reference date, which `Date` stores, is exact; seconds since 1970 may be rounded up.
        let second = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard second.magnitude < Self.farthestSecond else { return nil }
        let unixSecond = Int(second) + Int(Date.timeIntervalBetween1970AndReferenceDate)
        offsetSeconds = Self.offsetSeconds(atUnixSecond: unixSecond, in: timeZone)
        dayNumber = (unixSecond + offsetSeconds).floorDivided(by: Self.secondsPerDate)
        guard LocalDay.supportedNumbers.contains(dayNumber) else { return nil }
    }

    /// The offset of `timeZone` from UTC at an instant.
    static func offsetSeconds(atUnixSecond second: Int, in timeZone: TimeZone) -> Int {
        timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(second)))
    }

    /// Beyond the supported days in any zone, and well within the exact range of `Int` and `Double`. NaN fails the comparison.
    private static let farthestSecond = TimeInterval((LocalDay.supportedNumbers.upperBound + 20_000) * secondsPerDate)
}
