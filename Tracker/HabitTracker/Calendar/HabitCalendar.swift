import Foundation

/// The last days of a habit, with what was entered on each.
///
/// Days are dates on the wall clock of the calendar's time zone (``LocalDay``). Dates that the zone skipped are not
/// listed. Entries before the first or after the last day listed are left out; an entry later on the last day counts.
public struct HabitCalendar: Hashable, Sendable {
    /// The most days that may be listed: ten years.
    public static let maximumDays = 3_660

    /// The days, oldest first, those without entries among them; the last is `now`'s day. Never empty.
    public let days: [DayCount]
    /// The day on which a week begins: 1 is Sunday, 7 is Saturday.
    public let firstWeekday: Int

    /// Counts entries by day.
    ///
    /// - Parameters:
    ///   - lastDays: how many days to list, 1 to ``maximumDays``.
    ///   - now: the present instant; its day is the last one listed.
    ///   - calendar: gives the time zone and the first day of the week.
    ///   - entries: date and value of each entry, in any order.
    /// - Throws: ``HabitTrackingError/invalidDayCount(_:)``, or ``HabitTrackingError/dateOutOfRange`` for a `now` that
    ///   is on no day.
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

    /// The number of entries that carry a value.
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
