import Foundation

/// A date in a time zone, without a time of day: what a person calls "the day I did it".
///
/// Two instants are on the same day if the zone's wall clock shows the same date at both, whatever the length of that day: 23 or 25 hours
/// at a change to or from summer time, 47 if a zone crossed the date line and repeated a date. Days are numbered without gaps, so a date
/// that a zone skipped (Pacific/Apia had no 2011-12-30) has a number too; see ``isSkipped(in:)``.
public struct LocalDay: Hashable, Sendable {
    /// The supported day numbers: about 200,000 years in both directions from 1970, so that no sum of days can overflow.
    public static let supportedNumbers = -73_000_000...73_000_000

    /// The number of days since 1970-01-01, which is day 0.
    public let number: Int

    /// Creates a day from its number; nil outside ``supportedNumbers``.
    public init?(number: Int) {
        guard Self.supportedNumbers.contains(number) else { return nil }
        self.number = number
    }

    /// The date that the wall clock of `timeZone` shows at `date`; nil if the date is NaN, infinite, or outside ``supportedNumbers``.
    public init?(containing date: Date, in timeZone: TimeZone) {
        guard let stamp = DayStamp(date, in: timeZone) else { return nil }
        self.init(number: stamp.dayNumber)
    }

    /// The day of the week in the numbering of `Calendar`: 1 is Sunday, 7 is Saturday.
    public var weekday: Int {
        // Day 0 was a Thursday, which is 5.
        let shifted = number + 4
        return shifted - shifted.floorDivided(by: 7) * 7 + 1
    }

    /// Year, month and day in the Gregorian calendar, extended to dates before its introduction as in ISO 8601; the year before year 1 is
    /// 0.
    ///
    /// Counts years from March, so that the leap day is the last of a year, within eras of 400 years (146,097 days) from 0000-03-01: the
    /// method of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms".
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
        // No zone is more than 18 hours from UTC, so every instant that could be on this day is between the two.
        let margin = 18 * 3_600
        let start = number * DayStamp.secondsPerDate
        let end = start + DayStamp.secondsPerDate
        let before = DayStamp.offsetSeconds(atUnixSecond: start - margin - 1, in: timeZone)
        let after = DayStamp.offsetSeconds(atUnixSecond: end + margin, in: timeZone)
        guard after - before >= DayStamp.secondsPerDate else { return false }
        // With the old offset the day would have begun at the first of these instants, with the new one it would have ended at the second.
        // If the change came in between, the day has neither its first nor its last second, nor any other.
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
    /// The date in ISO 8601: 2026-03-01.
    public var description: String {
        func padded(_ value: Int, _ length: Int) -> String {
            let digits = String(value.magnitude)
            return String(repeating: "0", count: max(0, length - digits.count)) + digits
        }
        let (year, month, day) = gregorian
        return "\(year < 0 ? "-" : "")\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }
}
