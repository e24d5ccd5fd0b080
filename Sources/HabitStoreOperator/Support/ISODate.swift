import Foundation
@_spi(Engines) import HabitStore

/// Instants as text, in every year that a store may contain.
package enum ISODate {
    /// `2026-01-31T07:30:00.250Z`: UTC, rounded down to milliseconds. Seconds since 2001 beyond 200,000 years from now.
    package static func instant(_ date: Date) -> String { TextDate.text(date) ?? far(date) }

    /// `2026-01-31 08:30`: the time on a clock of a time zone.
    package static func local(_ date: Date, in timeZone: TimeZone) -> String {
        let offset = timeZone.secondsFromGMT(for: date)
        guard let (day, milliseconds) = TextDate.day(of: date, secondsFromGMT: offset) else { return far(date) }
        let minutes = milliseconds / 60_000
        return "\(day) \(pad(minutes / 60)):\(pad(minutes % 60))"
    }

    private static func far(_ date: Date) -> String { "date(\(date.timeIntervalSinceReferenceDate))" }

    private static func pad(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
