import Foundation
@_spi(Engines) import HabitStore
import HabitTracking

/// Instants in words, for people and other programs: `2026-01-31T07:30:00.250Z`.
enum InstantText {
    /// UTC, rounded down to milliseconds; seconds since 2001 where no calendar reaches.
    static func text(_ date: Date) -> String {
        let reference = date.timeIntervalSinceReferenceDate
        let whole = reference.rounded(.down)
        // No year of four digits is further away.
        guard abs(whole) < 1e12 else { return "\(reference)" }
        let seconds = Int(whole) + Int(Date.timeIntervalBetween1970AndReferenceDate)
        let number = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
        guard let day = LocalDay(number: number), (0...9_999).contains(day.gregorian.year) else {
            return "\(reference)"
        }
        let second = seconds - number * 86_400
        let milliseconds = min(999, Int((reference - whole) * 1_000))
        return "\(day)T\(pad(second / 3_600, 2)):\(pad(second / 60 % 60, 2)):\(pad(second % 60, 2))"
            + ".\(pad(milliseconds, 3))Z"
    }

    /// Reads what ``text(_:)`` writes, days and other offsets.
    static func parse(_ text: String) -> Date? {
        if let date = TextDate.parse(text) { return date }
        return Double(text).flatMap { $0.isFinite ? Date(timeIntervalSinceReferenceDate: $0) : nil }
    }

    private static func pad(_ number: Int, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
