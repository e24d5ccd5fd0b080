import Foundation

/// The last days of a habit, with a summary of each day's entries.
///
/// Days are dates on the wall clock of the calendar's time zone (``LocalDay``). Dates that the zone skipped are not listed. Entries before
/// the first or after the last listed day are ignored; an entry later on the last day counts.
public struct HabitCalendar: Hashable, Sendable {
    /// The maximum number of listed days: ten years.
    public static let maximumDays = 3_660

    /// The days, oldest first, including those without entries; the last is the day of `now`. Never empty.
    public let days: [DayCount]
    /// The first day of the week: 1 is Sunday, 7 is Saturday.
    public let firstWeekday: Int

    /// Counts entries by day.
    ///
    /// - Parameters:
    ///   - lastDays: the number of days to list, 1 to ``maximumDays``.
    ///   - now: the present instant; its day is the last one listed.
    ///   - calendar: provides the time zone and the first day of the week.
    ///   - entries: the date and value of each entry, in any order.
    /// - Throws: ``HabitTrackingError/invalidDayCount(_:)``, or ``HabitTrackingError/dateOutOfRange`` if `now` is not on a valid day.
    public init(
        lastDays: Int,
        endingOn now: Date,
        calendar: Calendar,
        entries: some Sequence<(date: Date, value: Double?)>
    ) throws(HabitTrackingError) {
        guard (1...Self.maximumDays).contains(lastDays) else { throw .invalidDayCount(lastDays) }
        let timeZone = calendar.timeZone
        guard let today = LocalDay(containing: now, in: timeZone) else { throw .dateOutOfRange }
        var days = Self.days(lastDays, endingOn: today, in: timeZone)
        guard let oldest = days.first?.day else { throw .dateOutOfRange }
        var indexOfDay: [Int: Int] = [:]
        for (index, day) in days.enumerated() { indexOfDay[day.day.number] = index }
        for entry in entries {
            guard let stamp = DayStamp(entry.date, in: timeZone),
                (oldest.number...today.number).contains(stamp.dayNumber),
                let index = indexOfDay[stamp.dayNumber]
            else { continue }
            days[index].add(value: entry.value)
        }
        self.days = days
        firstWeekday = calendar.firstWeekday
    }

    /// The number of entries on all days.
    public var count: Int { days.reduce(0) { $0 + $1.count } }

    /// The number of entries with a value.
    public var valueCount: Int { days.reduce(0) { $0 + $1.valueCount } }

    /// The sum of all values.
    public var valueSum: Double { days.reduce(0) { DayCount.sum($0, $1.valueSum) } }

    private static func days(_ count: Int, endingOn today: LocalDay, in timeZone: TimeZone) -> [DayCount] {
        var days: [DayCount] = []
        days.reserveCapacity(count)
        var next: LocalDay? = today
        while let day = next, days.count < count {
            if !day.isSkipped(in: timeZone) { days.append(DayCount(day: day)) }
            next = LocalDay(number: day.number - 1)
        }
        return days.reversed()
    }
}

/// A summary of one day's entries.
public struct DayCount: Hashable, Sendable {
    /// The day.
    public let day: LocalDay
    /// The number of entries.
    public internal(set) var count = 0
    /// The number of entries with a value.
    public internal(set) var valueCount = 0
    /// The sum of the values, in the habit's unit; 0 if there are none.
    public internal(set) var valueSum = 0.0

    init(day: LocalDay) { self.day = day }

    /// Counts an entry. NaN and infinite values are ignored; a sum too large for a `Double` is clamped.
    mutating func add(value: Double?) {
        count += 1
        guard let value, value.isFinite else { return }
        valueCount += 1
        valueSum = DayCount.sum(valueSum, value)
    }

    /// The sum of two finite numbers, clamped to the finite range.
    static func sum(_ left: Double, _ right: Double) -> Double {
        let limit = Double.greatestFiniteMagnitude
        return min(limit, max(-limit, left + right))
    }
}

/// How much of a schedule was completed.
public struct Completion: Hashable, Sendable {
    /// The entries that count towards the schedule.
    public let done: Double
    /// The entries that the schedule demands; above 0.
    public let asked: Double

    /// From 0 (nothing) to 1 (everything).
    public var fraction: Double { done / asked }

    /// Whole percent, rounded down, so that 100 means everything.
    public var percent: Int { done >= asked ? 100 : min(99, Int(100 * done / asked)) }
}

extension HabitCalendar {
    /// How much of a schedule was completed in the listed days.
    ///
    /// The days are divided into blocks of `periodDays`, counted back from the last day. A block demands `timesPerPeriod` entries, and a
    /// shorter oldest block a proportional share; surplus entries of one block do not count for another. Days before the habit began demand
    /// nothing. With a period of one day, the last day counts only if it is complete, as the day is not over.
    ///
    /// - Parameters:
    ///   - schedule: the schedule of the habit.
    ///   - began: the day when the schedule began, or the first day with an entry if that is earlier; nil if it began before all listed
    ///     days.
    /// - Returns: nil if no day demands anything yet.
    public func completion(of schedule: HabitSchedule, since began: LocalDay? = nil) -> Completion? {
        var counts = days[...]
        if let began { counts = counts.drop { $0.day < began && $0.count == 0 } }
        if schedule.periodDays == 1, let last = counts.last, last.count < schedule.timesPerPeriod {
            counts.removeLast()
        }
        guard !counts.isEmpty else { return nil }
        var asked = 0.0
        var done = 0.0
        while !counts.isEmpty {
            let block = counts.suffix(schedule.periodDays)
            counts.removeLast(block.count)
            let share = Double(schedule.timesPerPeriod) * (Double(block.count) / Double(schedule.periodDays))
            asked += share
            done += min(share, Double(block.reduce(0) { $0 + $1.count }))
        }
        return Completion(done: done, asked: asked)
    }
}

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

extension Int {
    /// The quotient rounded down, also for a negative dividend: day −1 is in week −1, not in week 0.
    ///
    /// All callers pass a positive `divisor`.
    func floorDivided(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
