import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// How a column of another program's file stores an attribute's values: what a date, an identifier or a truth value looks like there.
///
/// | form | stored | attribute |
/// |---|---|---|
/// | `text`, `integer`, `real`, `bytes` | the value itself | String, Int, Double, Data |
/// | `boolean` | 0 or 1 | Bool |
/// | `seconds 1970`, also `milliseconds`, `microseconds`, `nanoseconds`, `days`; also `2001` | a number since that year, UTC | Date |
/// | `julian days` | a number, as SQLite's `julianday` gives it | Date |
/// | `date PATTERN` | a text, or a number such as 20260131; ``DatePattern`` | Date |
/// | `uuid`, `uuid lowercase`, `uuid bytes` | a text in any spelling, written in capitals or in small letters; 16 bytes | UUID |
/// | `json` | a text | `Codable` value, `[String]` |
/// | `archive` | a keyed archive of texts or whole numbers | `[String]` |
/// | `decimal`, `minor units N` | a text; a whole number of 10⁻ᴺ | Decimal |
/// | `FORM or FORM` | values in several forms, in one column; the first is written | as the forms |
///
/// A form refuses every other stored value, because SQLite does not hold a column to its declared type.
public enum StoredForm: Sendable, Hashable {
    case text
    case integer
    case real
    case bytes
    case boolean
    case count(Unit, since: Year)
    case julianDays
    case date(DatePattern)
    case uuid(isLowercase: Bool)
    case uuidBytes
    case json
    case archive
    case decimal
    case minorUnits(Int)
    /// Values in any of these forms; the first is the one that is written. A value that has several of them and means something else in each has
    /// none.
    indirect case anyOf([StoredForm])

    /// A unit of time.
    public enum Unit: String, Sendable, Hashable, CaseIterable {
        case nanoseconds, microseconds, milliseconds, seconds, days
    }

    /// The year at whose beginning, in UTC, a count begins.
    public enum Year: String, Sendable, Hashable, CaseIterable {
        case y1970 = "1970"
        case y2001 = "2001"
    }

    /// The form of a name; nil if there is none.
    public init?(_ name: String) {
        switch name {
        case "text": self = .text
        case "integer": self = .integer
        case "real": self = .real
        case "bytes": self = .bytes
        case "boolean": self = .boolean
        case "julian days": self = .julianDays
        case "uuid": self = .uuid(isLowercase: false)
        case "uuid lowercase": self = .uuid(isLowercase: true)
        case "uuid bytes": self = .uuidBytes
        case "json": self = .json
        case "archive": self = .archive
        case "decimal": self = .decimal
        default:
            let alternatives = name.components(separatedBy: " or ")
            let words = name.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2 else { return nil }
            if alternatives.count > 1 {
                let forms = alternatives.compactMap { StoredForm($0) }
                guard forms.count == alternatives.count, !Self.anyOf(forms).kinds.isEmpty else { return nil }
                self = .anyOf(forms)
            } else if words[0] == "date", let pattern = DatePattern(words[1]) {
                self = .date(pattern)
            } else if let unit = Unit(rawValue: words[0]), let year = Year(rawValue: words[1]) {
                self = .count(unit, since: year)
            } else if name.hasPrefix("minor units "), let digits = Int(name.dropFirst(12)), (0...18).contains(digits) {
                self = .minorUnits(digits)
            } else {
                return nil
            }
        }
    }

    /// The name in a mapping.
    public var name: String {
        switch self {
        case .text: "text"
        case .integer: "integer"
        case .real: "real"
        case .bytes: "bytes"
        case .boolean: "boolean"
        case .count(let unit, let year): "\(unit.rawValue) \(year.rawValue)"
        case .julianDays: "julian days"
        case .date(let pattern): "date \(pattern.text)"
        case .uuid(let isLowercase): isLowercase ? "uuid lowercase" : "uuid"
        case .uuidBytes: "uuid bytes"
        case .json: "json"
        case .archive: "archive"
        case .decimal: "decimal"
        case .minorUnits(let digits): "minor units \(digits)"
        case .anyOf(let forms): forms.map(\.name).joined(separator: " or ")
        }
    }

    /// Names to choose from, in messages and for questions whether another one was meant.
    static let names: [String] =
        [
            "text", "integer", "real", "bytes", "boolean", "julian days", "uuid", "uuid lowercase", "uuid bytes",
            "json", "archive",
        ]
        + ["decimal", "minor units 2"]
        + Year.allCases.flatMap { year in Unit.allCases.map { "\($0.rawValue) \(year.rawValue)" } }
        + DatePattern.named.map { "date \($0)" }

    /// The kinds of attributes whose values can have this form.
    var kinds: Set<AttributeKind> {
        switch self {
        case .text: [.string]
        case .integer: [.int]
        case .real: [.double]
        case .bytes: [.data]
        case .boolean: [.bool]
        case .count, .julianDays, .date: [.date]
        case .uuid, .uuidBytes: [.uuid]
        case .json: [.data, .strings]
        case .archive: [.strings]
        case .decimal, .minorUnits: [.data]
        case .anyOf(let forms): forms.map(\.kinds).reduce(forms.first?.kinds ?? []) { $0.intersection($1) }
        }
    }

    /// The form of an attribute for which a mapping names none; nil if there are several.
    static func plain(_ kind: AttributeKind) -> StoredForm? {
        switch kind {
        case .bool: .boolean
        case .int: .integer
        case .double: .real
        case .string: .text
        case .data, .date, .uuid, .strings, .links: nil
        }
    }

    // MARK: Reading

    /// The value of an attribute; nil if the stored value does not have this form, as NULL never has.
    package func value(_ stored: SourceValue, as kind: AttributeKind) -> Value? {
        switch (self, stored) {
        case (.text, .text(let text)): return .string(text)
        case (.integer, .int(let number)): return .int(number)
        case (.integer, .real(let number)): return Int64(exactly: number).map { .int($0) }
        case (.real, .real(let number)): return number.isFinite ? .double(number) : nil
        case (.real, .int(let number)): return Int64(exactly: Double(number)) == number ? .double(Double(number)) : nil
        case (.bytes, .blob(let bytes)): return .data(bytes)
        case (.boolean, .int(0)), (.boolean, .real(0)): return .bool(false)
        case (.boolean, .int(1)), (.boolean, .real(1)): return .bool(true)
        case (.count(let unit, let year), .int(let number)):
            return Self.date(whole: number, unit.perSecond, unit.seconds, year)
        case (.count(let unit, let year), .real(let number)):
            if let whole = Int64(exactly: number) { return Self.date(whole: whole, unit.perSecond, unit.seconds, year) }
            return Self.date(number / unit.perSecond * unit.seconds - year.offset)
        case (.julianDays, .int(let number)): return Self.date((Double(number) - Self.julianDayOf2001) * Self.day)
        case (.julianDays, .real(let number)): return Self.date((number - Self.julianDayOf2001) * Self.day)
        case (.date(let pattern), .text(let text)): return pattern.date(text).map { .date($0) }
        case (.date(let pattern), .int(let number)): return pattern.date(String(number)).map { .date($0) }
        case (.uuid, .text(let text)): return UUID(anySpelling: text).map { .uuid($0) }
        case (.uuidBytes, .blob(let bytes)) where bytes.count == 16: return .uuid(UUID(bytes: bytes))
        case (.json, .text(let text)): return Self.json(text, kind)
        case (.archive, .blob(let bytes)): return TextArchive.texts(bytes).map { .strings($0) }
        case (.decimal, .text(let text)): return Self.decimal(text)
        case (.minorUnits(let digits), .int(let number)):
            return Self.decimal(Decimal(sign: .plus, exponent: -digits, significand: Decimal(number)))
        case (.anyOf(let forms), _):
            let values = Set(forms.compactMap { $0.value(stored, as: kind) })
            return values.count == 1 ? values.first : nil
        default: return nil
        }
    }

    private static let day = 86_400.0
    private static let julianDayOf2001 = 2_451_910.5

    private static func date(_ seconds: Double) -> Value? {
        seconds.isFinite ? .date(Date(timeIntervalSinceReferenceDate: seconds)) : nil
    }

    /// Subtracts in whole numbers, which is exact, and divides once.
    private static func date(whole number: Int64, _ perSecond: Double, _ seconds: Double, _ year: Year) -> Value? {
        let offset = Int64(year.offset * perSecond / seconds)
        let (difference, overflows) = number.subtractingReportingOverflow(offset)
        guard !overflows else { return nil }
        return date(Double(difference) / perSecond * seconds)
    }

    private static func json(_ text: String, _ kind: AttributeKind) -> Value? {
        let bytes = Array(text.utf8)
        guard let json = try? JSON(parsing: bytes) else { return nil }
        guard kind == .strings else { return .data(Data(bytes)) }
        guard let elements = json.elements else { return nil }
        let texts = elements.compactMap(\.text)
        return texts.count == elements.count ? .strings(texts) : nil
    }

    private static func decimal(_ text: String) -> Value? {
        var digits = text[...]
        if digits.first == "-" { digits = digits.dropFirst() }
        let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { ("0"..."9").contains($0) } }),
            // A Decimal has 38 digits.
            digits.count <= 38, let number = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
        else { return nil }
        return decimal(number)
    }

    /// As ``JSONAttribute`` keeps a `Decimal`.
    private static func decimal(_ number: Decimal) -> Value? {
        try? JSONAttribute(wrappedValue: number).attributeValue()
    }

    // MARK: Writing

    /// The stored value in a program that uses this form; nil if the form cannot write the value.
    package func stored(_ value: Value) -> SourceValue? {
        switch (self, value) {
        case (.text, .string(let text)): return .text(text)
        case (.integer, .int(let number)): return .int(number)
        case (.real, .double(let number)): return .real(number)
        case (.bytes, .data(let bytes)): return .blob(bytes)
        case (.boolean, .bool(let flag)): return .int(flag ? 1 : 0)
        case (.count(let unit, let year), .date(let date)):
            let count = date.timeIntervalSinceReferenceDate * unit.perSecond / unit.seconds
            let offset = year.offset * unit.perSecond / unit.seconds
            guard let whole = Int64(exactly: count.rounded()), abs(count - count.rounded()) < unit.tolerance else {
                return .real(count + offset)
            }
            let (sum, overflows) = whole.addingReportingOverflow(Int64(offset))
            return overflows ? .real(count + offset) : .int(sum)
        case (.julianDays, .date(let date)):
            return .real(date.timeIntervalSinceReferenceDate / Self.day + Self.julianDayOf2001)
        case (.date(let pattern), .date(let date)): return pattern.text(date).map { .text($0) }
        case (.uuid(let isLowercase), .uuid(let id)):
            return .text(isLowercase ? id.uuidString.lowercased() : id.uuidString)
        case (.uuidBytes, .uuid(let id)): return .blob(withUnsafeBytes(of: id.uuid) { Data($0) })
        case (.json, .data(let bytes)): return String(validating: bytes, as: UTF8.self).map { .text($0) }
        case (.json, .strings(let texts)):
            return .text("[" + texts.map { JSON.quoted($0) }.joined(separator: ",") + "]")
        case (.decimal, .data(let json)): return Self.number(json).map { .text($0.description) }
        case (.minorUnits(let digits), .data(let json)):
            guard let number = Self.number(json) else { return nil }
            let units = number * Decimal(sign: .plus, exponent: digits, significand: 1)
            return Int64(units.description).map { .int($0) }
        case (.anyOf(let forms), _): return forms.first?.stored(value)
        default: return nil
        }
    }

    private static func number(_ json: Data) -> Decimal? {
        JSONAttribute<Decimal>(attributeValue: .data(json))?.wrappedValue
    }
}

extension StoredForm.Unit {
    /// The number of these in the number of ``seconds``.
    var perSecond: Double {
        switch self {
        case .nanoseconds: 1_000_000_000
        case .microseconds: 1_000_000
        case .milliseconds: 1_000
        case .seconds, .days: 1
        }
    }

    /// The seconds of one day, for days; 1 for others.
    var seconds: Double { self == .days ? 86_400 : 1 }

    /// A count this near to a whole number was one: a `Double` has no more digits for a date of today.
    var tolerance: Double {
        switch self {
        case .nanoseconds: 128
        case .microseconds: 0.126
        case .milliseconds: 0.000_126
        case .seconds, .days: 0
        }
    }
}

extension StoredForm.Year {
    /// The seconds from the beginning of this year to that of 2001.
    var offset: Double { self == .y1970 ? Date.timeIntervalBetween1970AndReferenceDate : 0 }
}

extension UUID {
    /// The identifier in a text with or without hyphens and braces, in capitals or small letters.
    init?(anySpelling text: String) {
        var digits = text.utf8[...]
        if digits.first == UInt8(ascii: "{"), digits.last == UInt8(ascii: "}") {
            digits = digits.dropFirst().dropLast()
        }
        if digits.count == 32 {
            let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)].map { start, end in
                String(decoding: Array(digits)[start..<end], as: UTF8.self)
            }
            self.init(uuidString: parts.joined(separator: "-"))
        } else {
            self.init(uuidString: String(decoding: digits, as: UTF8.self))
        }
    }

    /// - Parameter bytes: 16 bytes.
    init(bytes: Data) { self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) } }
}

/// The digits of a date in a text, in UTC: `yyyy` `MM` `dd` `HH` `mm` `ss` with as many digits as letters, `S` for each digit of a second's
/// fraction, `XXX` for `Z` or an offset such as `+02:00`. Text in `'` stands for itself, as do all signs but letters. `grdb`, `sqlite.swift`,
/// `iso8601` and `iso8601 fractions` are names of patterns. There is no pattern for two-digit years, which do not say what they mean.
public struct DatePattern: Sendable, Hashable {
    private enum Part: Hashable {
        case year, month, day, hour, minute, second
        case fraction(Int)
        case zone
        case literal([UInt8])
    }

    private static let patterns: [(name: String, pattern: String)] = [
        ("grdb", "yyyy-MM-dd HH:mm:ss.SSS"),
        ("sqlite.swift", "yyyy-MM-dd'T'HH:mm:ss.SSS"),
        ("iso8601", "yyyy-MM-dd'T'HH:mm:ssXXX"),
        ("iso8601 fractions", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"),
    ]

    /// The names of patterns, and some patterns.
    static let named =
        patterns.map(\.name) + [
            "yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss", "yyyy/MM/dd", "yyyyMMdd", "dd.MM.yyyy",
            "dd/MM/yyyy",
            "MM/dd/yyyy", "dd-MM-yyyy", "MM-dd-yyyy",
        ]

    /// The given name or pattern.
    public let text: String
    private let parts: [Part]

    /// A pattern; nil if it is none, or names no day.
    public init?(_ text: String) {
        self.text = text
        let pattern = Self.patterns.first { $0.name == text }?.pattern ?? text
        guard let parts = Self.parts(Array(pattern.utf8)) else { return nil }
        for needed in [Part.year, .month, .day] where parts.count(where: { $0 == needed }) != 1 { return nil }
        for part in [Part.hour, .minute, .second, .zone] where parts.count(where: { $0 == part }) > 1 { return nil }
        let fractions = parts.count { if case .fraction = $0 { true } else { false } }
        guard fractions <= 1, !parts.dropLast().contains(.zone) else { return nil }
        self.parts = parts
    }

    private static func parts(_ pattern: [UInt8]) -> [Part]? {
        var parts: [Part] = []
        var index = 0
        while index < pattern.count {
            let byte = pattern[index]
            if byte == UInt8(ascii: "'") {
                guard let end = pattern[(index + 1)...].firstIndex(of: byte) else { return nil }
                let literal = Array(pattern[(index + 1)..<end])
                // These would be read as parts by a hasty eye, and by nothing else.
                guard !literal.contains(where: { "yMdHmsSX".utf8.contains($0) }) else { return nil }
                parts.append(.literal(literal))
                index = end + 1
                continue
            }
            let run = pattern[index...].prefix { $0 == byte }.count
            switch (byte, run) {
            case (UInt8(ascii: "y"), 4): parts.append(.year)
            case (UInt8(ascii: "M"), 2): parts.append(.month)
            case (UInt8(ascii: "d"), 2): parts.append(.day)
            case (UInt8(ascii: "H"), 2): parts.append(.hour)
            case (UInt8(ascii: "m"), 2): parts.append(.minute)
            case (UInt8(ascii: "s"), 2): parts.append(.second)
            case (UInt8(ascii: "S"), 1...9): parts.append(.fraction(run))
            case (UInt8(ascii: "X"), 3): parts.append(.zone)
            case (UInt8(ascii: "a")...UInt8(ascii: "z"), _), (UInt8(ascii: "A")...UInt8(ascii: "Z"), _): return nil
            default: parts.append(.literal(Array(repeating: byte, count: run)))
            }
            index += run
        }
        return parts
    }

    /// The instant; nil if the text does not have exactly these digits, or the calendar has no such day or time.
    func date(_ text: String) -> Date? {
        var text = text
        return text.withUTF8 { date($0[...]) }
    }

    private func date(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Date? {
        var bytes = text
        func take(_ count: Int) -> Int? {
            var number = 0
            for _ in 0..<count {
                guard let byte = bytes.popFirst(), byte >= 0x30, byte <= 0x39 else { return nil }
                number = number * 10 + Int(byte - 0x30)
            }
            return number
        }
        var (year, month, day, hour, minute, second) = (0, 0, 0, 0, 0, 0)
        var (fraction, scale, offset) = (0, 1, 0)
        for part in parts {
            switch part {
            case .year: guard let number = take(4) else { return nil }; year = number
            case .month: guard let number = take(2), (1...12).contains(number) else { return nil }; month = number
            case .day: guard let number = take(2) else { return nil }; day = number
            case .hour: guard let number = take(2), number < 24 else { return nil }; hour = number
            case .minute: guard let number = take(2), number < 60 else { return nil }; minute = number
            case .second: guard let number = take(2), number < 60 else { return nil }; second = number
            case .fraction(let digits):
                guard let number = take(digits) else { return nil }
                fraction = number
                for _ in 0..<digits { scale *= 10 }
            case .zone:
                guard let sign = bytes.popFirst() else { return nil }
                if sign == UInt8(ascii: "Z") { continue }
                guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), let hours = take(2), hours < 24,
                    bytes.popFirst() == UInt8(ascii: ":"), let minutes = take(2), minutes < 60
                else { return nil }
                offset = (sign == UInt8(ascii: "-") ? -60 : 60) * (60 * hours + minutes)
            case .literal(let expected):
                guard bytes.starts(with: expected) else { return nil }
                bytes = bytes.dropFirst(expected.count)
            }
        }
        guard bytes.isEmpty, CivilDay.isDay(year, month, day) else { return nil }
        let days = CivilDay.number(year, month, day) - CivilDay.of2001
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        let (units, isTooLarge) = seconds.multipliedReportingOverflow(by: scale)
        // With so many digits, a Date has fewer than the text.
        guard !isTooLarge else { return Date(timeIntervalSinceReferenceDate: Double(seconds)) }
        return Date(timeIntervalSinceReferenceDate: Double(units + fraction) / Double(scale))
    }

    /// The instant's text, in UTC; nil outside the years 0 to 9999. Digits that the pattern does not have are cut off.
    func text(_ date: Date) -> String? {
        var scale = 1
        for case .fraction(let digits) in parts { for _ in 0..<digits { scale *= 10 } }
        let scaled = date.timeIntervalSinceReferenceDate * Double(scale)
        guard abs(scaled) < 9e18, let units = Int(exactly: scale > 1 ? scaled.rounded() : scaled.rounded(.down)) else {
            return nil
        }
        let seconds = units.flooredDivision(scale)
        let (day, time) = (seconds.flooredDivision(86_400), seconds.flooredRemainder(86_400))
        guard let civil = CivilDay(day + CivilDay.of2001), (0...9_999).contains(civil.year) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        func put(_ number: Int, _ count: Int) {
            var divisor = 1
            for _ in 1..<count { divisor *= 10 }
            for _ in 0..<count {
                bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
                divisor /= 10
            }
        }
        for part in parts {
            switch part {
            case .year: put(civil.year, 4)
            case .month: put(civil.month, 2)
            case .day: put(civil.day, 2)
            case .hour: put(time / 3_600, 2)
            case .minute: put(time / 60 % 60, 2)
            case .second: put(time % 60, 2)
            case .fraction(let count): put(units.flooredRemainder(scale), count)
            case .zone: bytes.append(UInt8(ascii: "Z"))
            case .literal(let literal): bytes += literal
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension DatePattern {
    /// The parts up to the day, if a text begins with year, month and day in this order.
    private var dayParts: ArraySlice<Part>? {
        guard let end = parts.firstIndex(of: .day) else { return nil }
        let head = parts[...end]
        let digits = head.filter { if case .literal = $0 { false } else { true } }
        return digits == [.year, .month, .day] ? head : nil
    }

    /// Whether texts of this pattern sort by their day.
    package var beginsWithDay: Bool { dayParts != nil }

    /// The beginning of a date's text, up to the day; nil if texts do not sort by their day, or for a date without a text.
    package func day(_ date: Date) -> String? {
        guard let dayParts, let text = text(date) else { return nil }
        let length = dayParts.reduce(0) { sum, part in
            switch part {
            case .year: sum + 4
            case .literal(let bytes): sum + bytes.count
            default: sum + 2
            }
        }
        return String(decoding: text.utf8.prefix(length), as: UTF8.self)
    }
}

/// A day of the proleptic Gregorian calendar, as ISO 8601 and SQLite count them (Howard Hinnant's `days_from_civil`).
struct CivilDay {
    let year: Int
    let month: Int
    let day: Int

    /// The number of 2001-01-01.
    static let of2001 = number(2001, 1, 1)

    static func isDay(_ year: Int, _ month: Int, _ day: Int) -> Bool {
        guard (1...31).contains(day), let same = CivilDay(number(year, month, day)) else { return false }
        return (same.year, same.month, same.day) == (year, month, day)
    }

    /// The days since 1970-01-01.
    static func number(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let era = shifted.flooredDivision(400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The day of a number; nil millions of years from now.
    init?(_ number: Int) {
        guard abs(number) < 1_000_000_000 else { return nil }
        let shifted = number + 719_468
        let era = shifted.flooredDivision(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }
}

extension Int {
    fileprivate func flooredDivision(_ divisor: Int) -> Int { (self - flooredRemainder(divisor)) / divisor }

    fileprivate func flooredRemainder(_ divisor: Int) -> Int {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}

/// The texts or whole numbers of an archived array (`NSKeyedArchiver`).
enum TextArchive {
    static func texts(_ bytes: Data) -> [String]? {
        guard let archive = KeyedArchive(bytes), archive.className(archive.root)?.hasSuffix("Array") == true else {
            return nil
        }
        var texts: [String] = []
        for element in archive.elements(archive.root) {
            switch archive.node(element) {
            case .string(let text): texts.append(text)
            case .int(let number): texts.append(String(number))
            default: return nil
            }
        }
        return texts
    }
}
