import Foundation
import HabitStoreImport
import HabitTracker

/// When something happened, as far as a source knows.
enum SourceMoment: Hashable, Sendable {
    /// On a day, and the source does not know more.
    case day(LocalDay)
    /// At a time of the day that the wall clock showed where the user was: seconds since its midnight.
    case wallClock(LocalDay, second: Int)
    /// At this instant.
    case instant(Date)

    private static let noon = 43_200

    /// The instant that stands for it in a store.
    ///
    /// A day is its noon on the wall clock of the user's time zone, as it is for a day that is typed: then it is that day in
    /// this time zone, and in most others that the user may travel to. Many apps mean a day by the midnight of Greenwich,
    /// which west of it is the evening of the day before.
    func date(in timeZone: TimeZone) -> Date {
        switch self {
        case .day(let day): Self.onWallClock(day, Self.noon, timeZone)
        case .wallClock(let day, let second): Self.onWallClock(day, second, timeZone)
        case .instant(let date): date
        }
    }

    /// The day, where the source says one.
    var day: LocalDay? {
        switch self {
        case .day(let day), .wallClock(let day, _): day
        case .instant: nil
        }
    }

    /// A day that a calendar has, from its numbers.
    static func day(year: Int, month: Int, day: Int) -> LocalDay? {
        guard (0...9_999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
        // Days are counted from March, so that the leap day is a year's last.
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let number = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        // A day that a month does not have is one of the next month.
        guard let result = LocalDay(number: number), result.gregorian == (year, month, day) else { return nil }
        return result
    }

    /// A day from its number since 1970, of a year that is written with four digits.
    static func day(number: Int) -> LocalDay? {
        guard let day = LocalDay(number: number), (0...9_999).contains(day.gregorian.year) else { return nil }
        return day
    }

    /// A day as `2026-01-31`.
    static func day(iso text: some StringProtocol) -> LocalDay? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count == 4, parts[1].utf8.count == 2, parts[2].utf8.count == 2,
            let year = number(parts[0]), let month = number(parts[1]), let date = number(parts[2])
        else { return nil }
        return day(year: year, month: month, day: date)
    }

    /// A number of digits alone.
    static func number(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 9, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return nil
        }
        return Int(text)
    }

    private static func onWallClock(_ day: LocalDay, _ second: Int, _ timeZone: TimeZone) -> Date {
        let clock = Double(day.number) * 86_400 + Double(second)
        // The offset at an instant near it leads near enough to ask for the offset that counts.
        var instant = clock
        for _ in 0..<2 {
            instant = clock - Double(timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: instant)))
        }
        return Date(timeIntervalSince1970: instant)
    }
}
