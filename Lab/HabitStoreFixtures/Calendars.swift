import Foundation

/// Wall clocks for the fixtures' entries.
enum Calendars {
    /// The Gregorian calendar in a time zone.
    static func gregorian(_ zone: String) throws -> Calendar {
        guard let timeZone = TimeZone(identifier: zone) else {
            throw CocoaError(
                .fileReadUnknown,
                userInfo: [NSDebugDescriptionErrorKey: "no time zone \(zone); install tzdata"]
            )
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }

    /// The instant of a wall-clock time.
    static func date(
        _ calendar: Calendar,
        _ year: Int,
        _ month: Int,
        _ day: Int,
        _ hour: Int = 0,
        _ minute: Int = 0
    ) -> Date {
        let components = DateComponents(year: year, month: month, day: day, hour: hour, minute: minute)
        return calendar.date(from: components) ?? Date(timeIntervalSinceReferenceDate: 0)
    }
}
