import Foundation
import HabitTracking

/// Instants as text, in every year that a store may hold.
package enum ISODate {
    /// `2026-01-31T07:30:00.250Z`: UTC, rounded down to milliseconds. Seconds since 2001 where no calendar reaches.
    package static func instant(_ date: Date) -> String {
        guard let (day, milliseconds) = wallClock(date, .gmt) else {
            return "date(\(date.timeIntervalSinceReferenceDate))"
        }
        let seconds = milliseconds / 1_000
        return "\(day)T\(pad(seconds / 3_600)):\(pad(seconds / 60 % 60)):\(pad(seconds % 60))"
            + ".\(pad(milliseconds % 1_000, 3))Z"
    }

    /// `2026-01-31 08:30`: what the wall clock of a time zone shows.
    package static func local(_ date: Date, in timeZone: TimeZone) -> String {
        guard let (day, milliseconds) = wallClock(date, timeZone) else {
            return "date(\(date.timeIntervalSinceReferenceDate))"
        }
        let minutes = milliseconds / 60_000
        return "\(day) \(pad(minutes / 60)):\(pad(minutes % 60))"
    }

    private static func wallClock(_ date: Date, _ timeZone: TimeZone) -> (day: LocalDay, milliseconds: Int)? {
        guard let day = LocalDay(containing: date, in: timeZone) else { return nil }
        let whole = date.timeIntervalSinceReferenceDate.rounded(.down)
        let fraction = date.timeIntervalSinceReferenceDate - whole
        let unix = Int(whole) + Int(Date.timeIntervalBetween1970AndReferenceDate)
        let offset = timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(unix)))
        let second = unix + offset - day.number * 86_400
        return (day, second * 1_000 + min(999, Int(fraction * 1_000)))
    }

    private static func pad(_ number: Int, _ digits: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
