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
