import Foundation

/// A word of a filter text.
struct FilterToken: Equatable {
    enum Kind: Equatable {
        case name(String)
        case escapedName(String)
        case variable(Int)
        case text(String)
        case whole(Int64)
        case decimal(Double)
        case symbol(String)
        case end
    }

    let kind: Kind
    /// Where it begins, in characters from 1.
    let column: Int
}

/// Cuts a filter text into words.
///
/// It reads scalar by scalar: as a Character, a quotation mark would melt into a combining mark that follows it in a
/// user's text. Columns are counted in Characters, as people count.
struct FilterLexer {
    /// The highest number that a variable may have.
    static let maximumVariable = 999

    private let scalars: [Unicode.Scalar]
    /// The column of each scalar.
    private let columns: [Int]
    private var position = 0

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
        columns = text.enumerated().flatMap { index, character in
            repeatElement(index + 1, count: character.unicodeScalars.count)
        }
    }

    static func tokens(_ text: String) throws -> [FilterToken] {
        guard text.utf8.count <= FilterParser.maximumBytes else {
            throw HabitStoreError(.limitExceeded, "a filter may have \(FilterParser.maximumBytes) bytes at most")
        }
        var lexer = FilterLexer(text)
        var tokens: [FilterToken] = []
        repeat { tokens.append(try lexer.next(after: tokens.last?.kind)) } while tokens.last?.kind != .end
        return tokens
    }

    private func column(at position: Int) -> Int {
        position < columns.count ? columns[position] : (columns.last ?? 0) + 1
    }

    private mutating func next(after previous: FilterToken.Kind?) throws -> FilterToken {
        while position < scalars.count, scalars[position].properties.isWhitespace { position += 1 }
        let column = column(at: position)
        guard position < scalars.count else { return FilterToken(kind: .end, column: column) }
        let scalar = scalars[position]
        let kind: FilterToken.Kind
        if scalar == "\"" || scalar == "'" {
            kind = .text(try quoted(scalar, column))
        } else if scalar == "`" {
            kind = .escapedName(try quoted(scalar, column))
        } else if scalar.isASCIIDigit || isSign(scalar, after: previous) {
            kind = try number(column)
        } else if scalar == "$" {
            position += 1
            guard let number = Int(take { $0.isASCIIDigit }), number <= Self.maximumVariable else {
                throw FilterParser.failure("a variable is written as $0, $1, … up to $\(Self.maximumVariable)", column)
            }
            kind = .variable(number)
        } else if scalar.beginsName {
            kind = .name(take { $0.continuesName })
        } else {
            kind = .symbol(try symbol(column))
        }
        return FilterToken(kind: kind, column: column)
    }

    /// A minus belongs to the number after it, unless there is something before it to subtract from.
    private func isSign(_ scalar: Unicode.Scalar, after previous: FilterToken.Kind?) -> Bool {
        guard scalar == "-", peek(1)?.isASCIIDigit == true else { return false }
        switch previous {
        case nil, .end: return true
        case .text, .whole, .decimal, .escapedName, .variable: return false
        case .name(let name): return FilterParser.isKeyword(name)
        case .symbol(let symbol): return ![")", "]", "}"].contains(symbol)
        }
    }

    private func peek(_ distance: Int) -> Unicode.Scalar? {
        position + distance < scalars.count ? scalars[position + distance] : nil
    }

    private mutating func take(_ belongs: (Unicode.Scalar) -> Bool) -> String {
        let start = position
        while position < scalars.count, belongs(scalars[position]) { position += 1 }
        return string(start..<position)
    }

    private func string(_ range: Range<Int>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars[range])
        return String(text)
    }

    private mutating func symbol(_ column: Int) throws -> String {
        for symbol in ["==", "!=", "<=", ">=", "&&", "||", "[cd]", "[c]"] where matches(symbol) {
            position += symbol.unicodeScalars.count
            return symbol
        }
        let single = String(scalars[position])
        guard "=<>!()[]{},.+-*/%".unicodeScalars.contains(scalars[position]) else {
            throw FilterParser.failure("the character \(single.quotedForFilter) has no meaning here", column)
        }
        position += 1
        return single
    }

    private func matches(_ symbol: String) -> Bool {
        symbol.unicodeScalars.enumerated().allSatisfy { offset, scalar in
            peek(offset)?.properties.lowercaseMapping == String(scalar)
        }
    }

    private mutating func number(_ column: Int) throws -> FilterToken.Kind {
        var text = String(scalars[position])
        position += 1
        text += take { $0.isASCIIDigit }
        if peek(0) == ".", peek(1)?.isASCIIDigit == true {
            position += 1
            text += "." + take { $0.isASCIIDigit }
        }
        if let mark = peek(0), mark == "e" || mark == "E" {
            position += 1
            text += "e"
            if let sign = peek(0), sign == "-" || sign == "+" {
                text.unicodeScalars.append(sign)
                position += 1
            }
            text += take { $0.isASCIIDigit }
        }
        if let whole = Int64(text) { return .whole(whole) }
        guard let decimal = Double(text), decimal.isFinite else {
            throw FilterParser.failure("this is not a number that can be stored", column)
        }
        return .decimal(decimal)
    }

    private mutating func quoted(_ quote: Unicode.Scalar, _ column: Int) throws -> String {
        position += 1
        var text = String.UnicodeScalarView()
        while position < scalars.count {
            let scalar = scalars[position]
            position += 1
            if scalar == quote { return String(text) }
            guard scalar == "\\", quote != "`" else {
                text.append(scalar)
                continue
            }
            guard position < scalars.count else { break }
            text.append(try escape())
        }
        throw FilterParser.failure("the quote that begins here is not closed", column)
    }

    private mutating func escape() throws -> Unicode.Scalar {
        let column = column(at: position - 1)
        let scalar = scalars[position]
        position += 1
        switch scalar {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "\"": return "\""
        case "'": return "'"
        case "\\": return "\\"
        case "u":
            let digits = string(position..<min(position + 4, scalars.count))
            guard digits.unicodeScalars.count == 4, digits.unicodeScalars.allSatisfy(\.properties.isASCIIHexDigit),
                let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code)
            else { throw FilterParser.failure("\\u needs the four hexadecimal digits of a character", column) }
            position += 4
            return scalar
        default: throw FilterParser.failure("there is no escape of this kind; write \\\\ for a backslash", column)
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }

    /// Whether a name that needs no backquotes can begin with it.
    var beginsName: Bool { self == "_" || properties.isAlphabetic }

    /// Whether it can continue a name without backquotes.
    var continuesName: Bool {
        beginsName || properties.numericType != nil || properties.canonicalCombiningClass != .notReordered
    }
}

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

    /// `2026-01-31T07:30:00.250Z`: UTC; ``day(of:secondsFromGMT:)`` says how milliseconds are rounded, and for which dates this is nil.
    public static func text(_ date: Date) -> String? {
        guard let (day, milliseconds) = day(of: date) else { return nil }
        let seconds = milliseconds / 1_000
        return "\(day)T\(pad(seconds / 3_600)):\(pad(seconds / 60 % 60)):\(pad(seconds % 60))"
            + ".\(pad(milliseconds % 1_000, 3))Z"
    }

    /// The day that a clock shows at an instant, as `2026-01-31`, and the milliseconds since its midnight; nil more than about 200,000 years from the
    /// present. Milliseconds are rounded down, unless the instant is the `Date` nearest to a whole one.
    public static func day(of date: Date, secondsFromGMT offset: Int = 0) -> (day: String, milliseconds: Int)? {
        let whole = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard abs(whole) < 6.3e12 else { return nil }
        let local = Int(whole) + daysFrom1970To2001 * 86_400 + offset
        let second = (local % 86_400 + 86_400) % 86_400
        let fraction = (date.timeIntervalSinceReferenceDate - whole) * 1_000
        let nearest = fraction.rounded()
        let isNearest = abs(nearest - fraction) <= date.timeIntervalSinceReferenceDate.ulp * 1_000
        let milliseconds = min(999, Int(isNearest ? nearest : fraction))
        return (text(ofDay: (local - second) / 86_400), second * 1_000 + milliseconds)
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
