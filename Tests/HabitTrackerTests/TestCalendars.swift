import Foundation
import Testing

/// Calendars and dates for the tests.
enum TestCalendars {
    /// A zone and an instant at which its wall clock does something odd.
    struct Oddity: Sendable {
        let zone: String
        let near: String
    }

    static let oddities = [
        Oddity(zone: "Europe/Berlin", near: "2024-03-31T01:00:00Z"),
        Oddity(zone: "Europe/Berlin", near: "2024-10-27T01:00:00Z"),
        // Midnight does not exist.
        Oddity(zone: "America/Sao_Paulo", near: "2018-11-04T03:00:00Z"),
        Oddity(zone: "Asia/Beirut", near: "2022-03-26T22:00:00Z"),
        Oddity(zone: "America/Havana", near: "2023-03-12T05:00:00Z"),
        // Midnight exists twice.
        Oddity(zone: "America/Sao_Paulo", near: "2019-02-17T02:00:00Z"),
        // At 00:01 the clock goes back to 23:01 of the day before.
        Oddity(zone: "America/St_Johns", near: "1995-10-29T02:31:00Z"),
        // Half an hour of summer time.
        Oddity(zone: "Australia/Lord_Howe", near: "2024-04-06T15:00:00Z"),
        // A date does not exist.
        Oddity(zone: "Pacific/Apia", near: "2011-12-30T10:00:00Z"),
        Oddity(zone: "Pacific/Fakaofo", near: "2011-12-30T11:00:00Z"),
        Oddity(zone: "Pacific/Kiritimati", near: "1994-12-31T10:00:00Z"),
        Oddity(zone: "Pacific/Kwajalein", near: "1993-08-21T12:00:00Z"),
        // A date lasts 47 hours.
        Oddity(zone: "Pacific/Kwajalein", near: "1969-09-30T13:00:00Z"),
        Oddity(zone: "Asia/Kathmandu", near: "1985-12-31T18:30:00Z"),
        Oddity(zone: "GMT", near: "2000-02-29T00:00:00Z"),
    ]

    static func calendar(_ zone: String) throws -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: zone))
        return calendar
    }

    static func date(_ text: String) throws -> Date {
        try Date(text, strategy: .iso8601)
    }

    /// Noon in Greenwich, `day` days after 2024-01-01.
    static func noon(_ day: Int) -> Date {
        Date(timeIntervalSince1970: 1_704_110_400 + TimeInterval(day) * 86_400)
    }

    static let greenwich: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()
}
