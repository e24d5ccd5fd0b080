import Foundation

/// A date on the wall calendar of a time zone, without a time: what a person calls "the day I did it".
///
/// Two instants are on the same day when the zone's wall clock shows the same date at both, however long that day
/// lasted: 23 or 25 hours at a change to or from summer time, 47 where a zone crossed the date line and had a date
/// twice. Days are numbered without gaps, so a date that a zone skipped (Pacific/Apia had no 2011-12-30) has a number
/// too; ``isSkipped(in:)`` tells.
public struct LocalDay: Hashable, Sendable {
    /// The numbers a day may have: some 200,000 years to both sides of 1970, so that no sum of days can overflow.
    public static let supportedNumbers = -73_000_000...73_000_000

    /// Days since 1970-01-01, which is 0.
    public let number: Int

    /// Names a day by its number; nil outside ``supportedNumbers``.
    public init?(number: Int) {
        guard Self.supportedNumbers.contains(number) else { return nil }
        self.number = number
    }

    /// The day that the wall clock of `timeZone` shows at `date`; nil when the date is not a number, infinite, or
    /// outside ``supportedNumbers``.
    public init?(containing date: Date, in timeZone: TimeZone) {
        guard let stamp = DayStamp(date, in: timeZone) else { return nil }
        self.init(number: stamp.dayNumber)
    }

    /// The day of the week as `Calendar` counts it: 1 is Sunday, 7 is Saturday.
    public var weekday: Int {
        // Day 0 was a Thursday, which is 5.
        let shifted = number + 4
        return shifted - shifted.floorDivided(by: 7) * 7 + 1
    }

    /// Year, month and day in the Gregorian calendar, carried back before its introduction as ISO 8601 does; the year
    /// before year 1 is 0.
    ///
    /// Counts years from March, so that the leap day is a year's last, within eras of 400 years (146,097 days) from
    /// 0000-03-01: the method of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms".
    public var gregorian: (year: Int, month: Int, day: Int) {
        let shifted = number + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    /// Whether the wall clock of `timeZone` never showed this date.
    ///
    /// A zone skips a date by moving to the other side of the date line: Pacific/Apia 2011-12-30, Pacific/Kiritimati
    /// 1994-12-31 or 1995-01-01, Pacific/Kwajalein 1993-08-21.
    public func isSkipped(in timeZone: TimeZone) -> Bool {
        // No zone is further than 18 hours from Greenwich, so every instant that could be on this day lies between the
        // two.
        let margin = 18 * 3_600
        let start = number * DayStamp.secondsPerDate
        let end = start + DayStamp.secondsPerDate
        let before = DayStamp.offsetSeconds(atUnixSecond: start - margin - 1, in: timeZone)
        let after = DayStamp.offsetSeconds(atUnixSecond: end + margin, in: timeZone)
        guard after - before >= DayStamp.secondsPerDate else { return false }
        // With the old offset the day would have begun at the first of these, with the new one it would have ended at
        // the second. If the change came between, the day has neither its first nor its last second, nor any other.
        return [start - before, end - after - 1].allSatisfy { second in
            let offset = DayStamp.offsetSeconds(atUnixSecond: second, in: timeZone)
            return (second + offset).floorDivided(by: DayStamp.secondsPerDate) != number
        }
    }
}

extension LocalDay: Comparable {
    /// Earlier days first.
    public static func < (left: LocalDay, right: LocalDay) -> Bool { left.number < right.number }
}

extension LocalDay: CustomStringConvertible {
    /// The date as ISO 8601 writes it: 2026-03-01.
    public var description: String {
        func padded(_ value: Int, _ length: Int) -> String {
            let digits = String(value.magnitude)
            return String(repeating: "0", count: max(0, length - digits.count)) + digits
        }
        let (year, month, day) = gregorian
        return "\(year < 0 ? "-" : "")\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }
}
