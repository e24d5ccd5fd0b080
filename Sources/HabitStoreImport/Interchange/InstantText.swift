import Foundation
@_spi(Engines) import HabitStore

/// Instants as text, for people and other programs: `2026-01-31T07:30:00.250Z`.
enum InstantText {
    /// UTC, rounded down to milliseconds; seconds since 2001 if the year does not have four digits.
    static func text(_ date: Date) -> String {
        guard let text = TextDate.text(date), text.utf8.count == "2026-01-31T07:30:00.250Z".utf8.count else {
            return "\(date.timeIntervalSinceReferenceDate)"
        }
        return text
    }

    /// Reads the result of ``text(_:)``, days and other offsets.
    static func parse(_ text: String) -> Date? {
        if let date = TextDate.parse(text) { return date }
        return Double(text).flatMap { $0.isFinite ? Date(timeIntervalSinceReferenceDate: $0) : nil }
    }
}
