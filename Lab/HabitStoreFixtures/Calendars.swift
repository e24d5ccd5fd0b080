import Foundation

/// Wall clocks for the fixtures' entries.
enum Calendars {
    /// A calendar in a time zone.
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

    /// An instant by the wall clock of a calendar.
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
