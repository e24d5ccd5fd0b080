import Foundation

/// A number as rules see it. JsonLogic has JavaScript's numbers, which are all floating-point; integers are kept
/// exact here, and two numbers are equal when they are mathematically equal.
enum JavaScriptNumber: Sendable {
    case int(Int64)
    case double(Double)

    static func == (left: JavaScriptNumber, right: JavaScriptNumber) -> Bool {
        switch (left, right) {
        case (.int(let left), .int(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.int(let integer), .double(let double)), (.double(let double), .int(let integer)):
            Int64(exactly: double) == integer
        }
    }

    var isZeroOrNaN: Bool {
        switch self {
        case .int(let value): value == 0
        case .double(let value): value == 0 || value.isNaN
        }
    }

    /// ECMAScript's `Number::toString` in base 10.
    var text: String {
        switch self {
        case .int(let value): String(value)
        case .double(let value): Self.text(of: value)
        }
    }
}

extension JavaScriptNumber {
    /// ECMAScript's `StringToNumber`: white space around the number is ignored, nothing at all is 0, and `0x`, `0o`
    /// and `0b` are understood. nil is NaN.
    init?(parsing text: String) {
        let trimmed = text.trimmingCharacters(in: Self.whiteSpace)
        if trimmed.isEmpty {
            self = .int(0)
        } else if let integer = Self.prefixedInteger(trimmed) {
            self = integer
        } else if let unsigned = Self.withoutSign(trimmed), unsigned == "Infinity" {
            self = .double(trimmed.hasPrefix("-") ? -.infinity : .infinity)
        } else if Self.isDecimal(trimmed), let integer = Int64(trimmed) {
            self = .int(integer)
        } else if Self.isDecimal(trimmed), let double = Double(Self.withoutBareDots(trimmed)) {
            self = .double(double)
        } else {
            return nil
        }
    }

    /// ECMAScript's WhiteSpace and LineTerminator: what Unicode calls a space, the byte order mark, and the controls
    /// from tab to carriage return.
    private static let whiteSpace = CharacterSet(charactersIn: "\t\u{B}\u{C}\u{FEFF}\n\r\u{2028}\u{2029}\u{20}\u{A0}")
        .union(CharacterSet(charactersIn: "\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}"))
        .union(CharacterSet(charactersIn: "\u{2008}\u{2009}\u{200A}\u{202F}\u{205F}\u{3000}"))

    private static func withoutSign(_ text: String) -> Substring? {
        text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    }

    /// `0x1F`, `0o17`, `0b11`: no sign, at least one digit.
    private static func prefixedInteger(_ text: String) -> JavaScriptNumber? {
        let radixes: [String: Int] = ["0x": 16, "0o": 8, "0b": 2]
        guard let radix = radixes[text.prefix(2).lowercased()] else { return nil }
        let digits = text.dropFirst(2)
        guard let first = digits.first, first != "-", first != "+" else { return nil }
        if let integer = Int64(digits, radix: radix) { return .int(integer) }
        var value = 0.0
        for digit in digits {
            guard let digit = digit.hexDigitValue, digit < radix else { return nil }
            value = value * Double(radix) + Double(digit)
        }
        return .double(value)
    }

    /// `[+-]? (digits (. digits?)? | . digits) ([eE] [+-]? digits)?`. Swift's own reading also takes `nan`, `0x1p3`.
    private static func isDecimal(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        func dropDigits() -> Int {
            let before = rest.count
            rest = rest.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            return before - rest.count
        }
        func drop(_ choices: String) -> Bool {
            guard let first = rest.first, choices.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        _ = drop("+-")
        var digits = dropDigits()
        if drop(".") { digits += dropDigits() }
        guard digits > 0 else { return false }
        if drop("eE") {
            _ = drop("+-")
            guard dropDigits() > 0 else { return false }
        }
        return rest.isEmpty
    }

    /// `5.` and `.5`, which JavaScript takes and Swift does not, with their zero.
    private static func withoutBareDots(_ text: String) -> String {
        guard let dot = text.firstIndex(of: ".") else { return text }
        let before = text[..<dot]
        let after = text[text.index(after: dot)...]
        let needsLeading = !(before.last?.isNumber ?? false)
        let needsTrailing = !(after.first?.isNumber ?? false)
        return before + (needsLeading ? "0." : ".") + (needsTrailing ? "0" : "") + after
    }
}

extension JavaScriptNumber {
    /// Swift and ECMAScript both choose the shortest digits that read back as the same number; they place the point
    /// and the exponent differently.
    private static func text(of value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        if value == 0 { return "0" }
        let (digits, pointPosition) = shortestDigits(of: value.magnitude)
        return (value < 0 ? "-" : "") + placed(digits, pointPosition)
    }

    /// The significant digits, and how many of them stand before the point (it may be negative or past the last).
    private static func shortestDigits(of magnitude: Double) -> (digits: String, pointPosition: Int) {
        let parts = magnitude.description.split(separator: "e")
        let mantissa = parts.first ?? ""
        let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        let dot = mantissa.firstIndex(of: ".") ?? mantissa.endIndex
        let integerDigits = mantissa.distance(from: mantissa.startIndex, to: dot)
        let all = mantissa.filter { $0 != "." }
        let leadingZeros = all.prefix { $0 == "0" }.count
        var digits = String(all.dropFirst(leadingZeros))
        while digits.last == "0" { digits.removeLast() }
        return (digits, integerDigits + exponent - leadingZeros)
    }

    private static func placed(_ digits: String, _ point: Int) -> String {
        let count = digits.count
        if point > 21 || point <= -6 {
            let exponent = point - 1
            let fraction = count > 1 ? "." + digits.dropFirst() : ""
            return digits.prefix(1) + fraction + "e" + (exponent < 0 ? "-" : "+") + String(abs(exponent))
        }
        if point <= 0 { return "0." + String(repeating: "0", count: -point) + digits }
        if count <= point { return digits + String(repeating: "0", count: point - count) }
        return digits.prefix(point) + "." + digits.dropFirst(point)
    }
}
