import Foundation

/// When a rule expires: a day, at whose end (UTC) it does, or an instant.
struct ExpiryDate {
    /// The first instant at which the rule covers nothing.
    let end: Date

    private static let daySeconds = 86_400.0
    private static let day = Date.ISO8601FormatStyle().year().month().day()
    private static let instants = [
        Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true),
    ]

    init(end: Date) { self.end = end }

    /// Reads `2026-12-31` or `2026-12-31T12:00:00Z`; nil for what is neither.
    init?(_ text: String) {
        // The style reads a day's beginning and passes over what follows it, and takes the 30th of February for March.
        if let day = try? Self.day.parse(text), Self.day.format(day) == text {
            end = day.addingTimeInterval(Self.daySeconds)
        } else if let instant = Self.instants.lazy.compactMap({ try? $0.parse(text) }).first {
            end = instant
        } else {
            return nil
        }
    }

    /// The day, where it is the end of one; else the instant.
    var text: String {
        let before = Self.day.format(end.addingTimeInterval(-Self.daySeconds))
        if let day = ExpiryDate(before), day.end == end { return before }
        return Self.instants[1].format(end)
    }
}
