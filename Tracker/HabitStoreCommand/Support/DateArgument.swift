import Foundation
@_spi(Engines) import HabitStore
import HabitStoreOperator
import HabitTracker

/// Parses dates from the command line.
enum DateArgument {
    /// Parses `today` and `yesterday` (at the present time of day), `2026-01-31` (today at the present time, any other day at noon),
    /// `2026-01-31T08:30` or `2026-01-31 08:30:00` in the calendar's time zone, and instants with an offset, `2026-01-31T08:30:00Z`.
    ///
    /// - Throws: a usage error for anything else.
    static func parse(_ text: String, now: Date, calendar: Calendar) throws -> Date {
        switch text.lowercased() {
        case "today", "now": return now
        case "yesterday":
            if let date = calendar.date(byAdding: .day, value: -1, to: now) { return date }
        default:
            if let date = day(text, now: now, calendar: calendar) { return date }
            if let date = wallClock(text, calendar: calendar) ?? TextDate.parse(text) { return date }
        }
        throw CommandFailure.usage(
            "\"\(text)\" is not a date: write today, yesterday, 2026-01-31, 2026-01-31T08:30 or 2026-01-31T08:30:00Z"
        )
    }

    private static func day(_ text: String, now: Date, calendar: Calendar) -> Date? {
        guard text.utf8.count == 10, let midnight = TextDate.parse(text) else { return nil }
        let named = LocalDay(containing: midnight, in: .gmt)
        if named == LocalDay(containing: now, in: calendar.timeZone) { return now }
        return onWallClock(midnight.addingTimeInterval(12 * 3_600), calendar)
    }

    private static func wallClock(_ text: String, calendar: Calendar) -> Date? {
        let separators = text.enumerated().filter { $0.offset == 10 && ($0.element == "T" || $0.element == " ") }
        guard !separators.isEmpty else { return nil }
        let clock = text.dropFirst(11)
        let seconds = clock.utf8.count == 5 ? ":00" : ""
        guard clock.utf8.count == 5 || clock.utf8.count == 8,
            let instant = TextDate.parse("\(text.prefix(10))T\(clock)\(seconds)Z")
        else { return nil }
        return onWallClock(instant, calendar)
    }

    /// The instant when the calendar's time zone shows the wall-clock time that UTC shows at `instant`; if that time was skipped, the next
    /// one in the calendar.
    private static func onWallClock(_ instant: Date, _ calendar: Calendar) -> Date? {
        var greenwich = Calendar(identifier: .gregorian)
        greenwich.timeZone = .gmt
        let parts = greenwich.dateComponents([.era, .year, .month, .day, .hour, .minute, .second], from: instant)
        return calendar.date(from: parts)
    }
}
