import Foundation

/// The day an instant is on, found with a single question to the time zone.
///
/// `Calendar.dateComponents` gives the same answer some eight times slower, and on Linux only back to 4713 BC, before
/// which it stays on one date. An instant's distance from Greenwich is all that is needed: the wall clock (instant plus
/// offset) has 86,400 seconds to each date, whatever the length of the real day was, because a change to summer time is
/// a jump of the wall clock and not a change of its scale.
struct DayStamp: Sendable {
    /// Wall-clock seconds from one date to the next. Never a difference of two instants.
    static let secondsPerDate = 86_400

    /// The number of the day; see ``LocalDay/number``.
    let dayNumber: Int
    /// How far the wall clock was ahead of Greenwich.
    let offsetSeconds: Int

    /// Nil when the date is not a number, infinite, or outside ``LocalDay/supportedNumbers``.
    init?(_ date: Date, in timeZone: TimeZone) {
        // The reference date is what `Date` stores: rounding that down is exact, where 1970's seconds may round up.
        let second = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard second.magnitude < Self.farthestSecond else { return nil }
        let unixSecond = Int(second) + Int(Date.timeIntervalBetween1970AndReferenceDate)
        offsetSeconds = Self.offsetSeconds(atUnixSecond: unixSecond, in: timeZone)
        dayNumber = (unixSecond + offsetSeconds).floorDivided(by: Self.secondsPerDate)
        guard LocalDay.supportedNumbers.contains(dayNumber) else { return nil }
    }

    /// How far the wall clock of `timeZone` is ahead of Greenwich at an instant.
    static func offsetSeconds(atUnixSecond second: Int, in timeZone: TimeZone) -> Int {
        timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(second)))
    }

    /// Beyond the supported days in any zone, and far within what `Int` and `Double` hold exactly. NaN is not below it.
    private static let farthestSecond = TimeInterval((LocalDay.supportedNumbers.upperBound + 20_000) * secondsPerDate)
}
