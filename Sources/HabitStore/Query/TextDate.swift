import Foundation

/// Dates in texts: a day (its midnight in UTC) or an instant with its offset from UTC.
@_spi(Engines) public enum TextDate {
    /// Reads `2026-01-31`, `2026-01-31T08:30:00Z`, also with fractions of a second and other offsets (`+02:00`); nil for anything else, including
    /// days that do not exist and texts with something after the date.
    public static func parse(_ text: String) -> Date? {
        var scanner = TextDateScanner(text)
        guard let days = scanner.day() else { return nil }
        if scanner.isAtEnd { return date(days: days, seconds: 0, fraction: 0) }
        guard scanner.take("T"), let seconds = scanner.time(), let fraction = scanner.fraction(),
            let offset = scanner.offset(), scanner.isAtEnd
        else { return nil }
        return date(days: days, seconds: seconds - offset, fraction: fraction)
    }

    /// `2026-01-31T07:30:00.250Z`: UTC, rounded down to milliseconds; nil beyond ``day(of:secondsFromGMT:)``.
    public static func text(_ date: Date) -> String? {
        guard let (day, milliseconds) = day(of: date) else { return nil }
        let seconds = milliseconds / 1_000
        return "\(day)T\(pad(seconds / 3_600)):\(pad(seconds / 60 % 60)):\(pad(seconds % 60))"
            + ".\(pad(milliseconds % 1_000, 3))Z"
    }

    /// The day that a clock shows at an instant, as `2026-01-31`, and the milliseconds since its midnight, rounded down; nil more than about 200,000
    /// years from the present.
    public static func day(of date: Date, secondsFromGMT offset: Int = 0) -> (day: String, milliseconds: Int)? {
        let whole = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard abs(whole) < 6.3e12 else { return nil }
        let local = Int(whole) + daysFrom1970To2001 * 86_400 + offset
        let second = (local % 86_400 + 86_400) % 86_400
        let fraction = date.timeIntervalSinceReferenceDate - whole
        return (text(ofDay: (local - second) / 86_400), second * 1_000 + min(999, Int(fraction * 1_000)))
    }

    /// The date of a number of days since 1970-01-01, by `civil_from_days` of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms".
    private static func text(ofDay number: Int) -> String {
        let shifted = number + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        return "\(year < 0 ? "-" : "")\(pad(abs(year), 4))-\(pad(month))-\(pad(day))"
    }

    private static func pad(_ number: Int, _ digits: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    /// Whole seconds are exact; the fraction is rounded once.
    private static func date(days: Int, seconds: Int, fraction: Double) -> Date {
        let whole = (days - daysFrom1970To2001) * 86_400 + seconds
        return Date(timeIntervalSinceReferenceDate: Double(whole) + fraction)
    }

    private static let daysFrom1970To2001 = 11_323
}

/// Reads the parts of a date from left to right.
private struct TextDateScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var isAtEnd: Bool { position == bytes.count }

    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: scalar) else { return false }
        position += 1
        return true
    }

    /// Days since 1970-01-01 in the proleptic Gregorian calendar.
    mutating func day() -> Int? {
        guard let year = number(4), year > 0, take("-"), let month = number(2), (1...12).contains(month), take("-"),
            let day = number(2), day > 0, day <= Self.daysInMonth(month, of: year)
        else { return nil }
        // Years begin in March, so that the leap day is the last; eras have 400 years.
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// `08:30:00`, in seconds.
    mutating func time() -> Int? {
        guard let hours = number(2), hours < 24, take(":"), let minutes = number(2), minutes < 60, take(":"),
            let seconds = number(2), seconds < 60
        else { return nil }
        return hours * 3_600 + minutes * 60 + seconds
    }

    /// `.25`, or nothing, which is 0.
    mutating func fraction() -> Double? {
        guard take(".") else { return 0 }
        let start = position
        while position < bytes.count, Self.isDigit(bytes[position]) { position += 1 }
        guard position > start else { return nil }
        return Double("0." + String(decoding: bytes[start..<position], as: UTF8.self))
    }

    /// `Z`, `+02:00`, `-0330`, in seconds.
    mutating func offset() -> Int? {
        if take("Z") { return 0 }
        let isEast = take("+")
        guard isEast || take("-"), let hours = number(2), hours < 24 else { return nil }
        _ = take(":")
        guard let minutes = number(2), minutes < 60 else { return nil }
        return (hours * 3_600 + minutes * 60) * (isEast ? 1 : -1)
    }

    private mutating func number(_ digits: Int) -> Int? {
        guard position + digits <= bytes.count else { return nil }
        var result = 0
        for byte in bytes[position..<position + digits] {
            guard Self.isDigit(byte) else { return nil }
            result = result * 10 + Int(byte - UInt8(ascii: "0"))
        }
        position += digits
        return result
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func daysInMonth(_ month: Int, of year: Int) -> Int {
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeapYear ? 29 : 28) : ([4, 6, 9, 11].contains(month) ? 30 : 31)
    }
}
