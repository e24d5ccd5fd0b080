/// A number as rules see it. JsonLogic has JavaScript's numbers, which are all floating-point; integers are kept
/// exact here, and two numbers are equal when they are mathematically equal.
package enum JavaScriptNumber: Sendable {
    case int(Int64)
    case double(Double)

    package static func == (left: JavaScriptNumber, right: JavaScriptNumber) -> Bool {
        switch (left, right) {
        case (.int(let left), .int(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.int(let integer), .double(let double)), (.double(let double), .int(let integer)):
            Int64(exactly: double) == integer
        }
    }

    /// ECMAScript's `Number::toString` in base 10.
    package var text: String {
        switch self {
        case .int(let value): String(value)
        case .double(let value): Self.text(of: value)
        }
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

extension JavaScriptNumber {
    /// ECMAScript's `StringToNumber`: white space around the number is ignored, nothing at all is 0, and `0x`, `0o`
    /// and `0b` are understood. nil is NaN.
    package init?(parsing text: String) {
        var text = text
        let number = text.withUTF8 { bytes -> JavaScriptNumber? in
            var scanner = DecimalScanner(bytes)
            scanner.skipWhiteSpace()
            scanner.dropTrailingWhiteSpace()
            if scanner.isAtEnd { return .int(0) }
            if let number = scanner.prefixedInteger() { return number }
            guard let number = scanner.number(), scanner.isAtEnd else { return nil }
            return number
        }
        guard let number else { return nil }
        self = number
    }

    /// ECMAScript's `parseFloat`: the longest beginning of the text that is a decimal number. nil is NaN.
    init?(parsingPrefixOf text: String) {
        var text = text
        let number = text.withUTF8 { bytes -> JavaScriptNumber? in
            var scanner = DecimalScanner(bytes)
            scanner.skipWhiteSpace()
            return scanner.number()
        }
        guard let number else { return nil }
        self = number
    }
}

/// Reads ECMAScript's number literals out of bytes.
private struct DecimalScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0
    private var end: Int

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        end = bytes.count
    }

    var isAtEnd: Bool { index >= end }

    mutating func skipWhiteSpace() {
        while index < end, let length = Self.whiteSpace(bytes[index..<end]) { index += length }
    }

    mutating func dropTrailingWhiteSpace() {
        while index < end {
            guard
                let length = (1...3).first(where: { length in
                    end - length >= index && Self.whiteSpace(bytes[(end - length)..<end]) == length
                })
            else { return }
            end -= length
        }
    }

    /// How many bytes the white space at the beginning has; nil where none stands there. ECMAScript's WhiteSpace and
    /// LineTerminator: what Unicode calls a space, the byte order mark, and the controls from tab to carriage return.
    private static func whiteSpace(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard let first = bytes.first else { return nil }
        if first == 0x20 || (0x09...0x0D).contains(first) { return 1 }
        guard first >= 0xC2, bytes.count >= 2 else { return nil }
        let second = bytes[bytes.startIndex + 1]
        if first == 0xC2 { return second == 0xA0 ? 2 : nil }
        guard bytes.count >= 3 else { return nil }
        switch (first, second, bytes[bytes.startIndex + 2]) {
        case (0xE1, 0x9A, 0x80), (0xE2, 0x80, 0x80...0x8A), (0xE2, 0x80, 0xA8), (0xE2, 0x80, 0xA9),
            (0xE2, 0x80, 0xAF), (0xE2, 0x81, 0x9F), (0xE3, 0x80, 0x80), (0xEF, 0xBB, 0xBF):
            return 3
        default:
            return nil
        }
    }

    /// `0x1F`, `0o17`, `0b11`: no sign, at least one digit, nothing after them.
    func prefixedInteger() -> JavaScriptNumber? {
        guard end - index > 2, bytes[index] == UInt8(ascii: "0") else { return nil }
        let radix: Int
        switch bytes[index + 1] | 0x20 {
        case UInt8(ascii: "x"): radix = 16
        case UInt8(ascii: "o"): radix = 8
        case UInt8(ascii: "b"): radix = 2
        default: return nil
        }
        var value = 0.0
        var exact: Int64? = 0
        for byte in bytes[(index + 2)..<end] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, digit < radix else { return nil }
            value = value * Double(radix) + Double(digit)
            exact = exact.flatMap { exact in
                let (product, overflow) = exact.multipliedReportingOverflow(by: Int64(radix))
                let (sum, carry) = product.addingReportingOverflow(Int64(digit))
                return overflow || carry ? nil : sum
            }
        }
        return exact.map { .int($0) } ?? .double(value)
    }

    /// `[+-]? (Infinity | digits (. digits?)? | . digits) ([eE] [+-]? digits)?`; as much of it as stands there.
    mutating func number() -> JavaScriptNumber? {
        var isNegative = false
        if index < end, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") {
            isNegative = bytes[index] == UInt8(ascii: "-")
            index += 1
        }
        if bytes[index..<end].starts(with: "Infinity".utf8) {
            index += 8
            return .double(isNegative ? -.infinity : .infinity)
        }
        let integerDigits = digits()
        var fractionDigits = index..<index
        let hasPoint = index < end && bytes[index] == UInt8(ascii: ".")
        if hasPoint {
            index += 1
            fractionDigits = digits()
            if integerDigits.isEmpty && fractionDigits.isEmpty { return nil }
        } else if integerDigits.isEmpty {
            return nil
        }
        let exponent = exponent()
        if exponent == nil, fractionDigits.isEmpty, let integer = Self.integer(bytes[integerDigits]) {
            // JavaScript has a negative zero, and an integer has none.
            if integer == 0 && isNegative { return .double(-0.0) }
            return .int(isNegative ? -integer : integer)
        }
        return double(isNegative, integerDigits, fractionDigits, exponent)
    }

    private mutating func digits() -> Range<Int> {
        let start = index
        while index < end, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) { index += 1 }
        return start..<index
    }

    /// The text of the exponent with its sign. Letters that no digits follow do not belong to the number.
    private mutating func exponent() -> Range<Int>? {
        guard index < end, bytes[index] | 0x20 == UInt8(ascii: "e") else { return nil }
        let before = index
        index += 1
        let start = index
        if index < end, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") { index += 1 }
        if digits().isEmpty {
            index = before
            return nil
        }
        return start..<index
    }

    /// The value of at most 18 digits, which always fits.
    private static func integer(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        guard digits.count <= 18 else { return Int64(String(decoding: digits, as: UTF8.self)) }
        var value: Int64 = 0
        for digit in digits { value = value * 10 + Int64(digit & 0x0F) }
        return value
    }

    private func double(
        _ isNegative: Bool,
        _ integer: Range<Int>,
        _ fraction: Range<Int>,
        _ exponent: Range<Int>?
    ) -> JavaScriptNumber? {
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        // Swift wants a digit on both sides of the point.
        var literal = (isNegative ? "-" : "") + (integer.isEmpty ? "0" : text(integer))
        literal += "." + (fraction.isEmpty ? "0" : text(fraction))
        if let exponent { literal += "e" + text(exponent) }
        return Double(literal).map { .double($0) }
    }
}

/// JavaScript's arithmetic. Where both numbers are integers and the result fits, it is exact; else it is that of
/// floating-point numbers.
extension JavaScriptNumber {
    static func + (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        exactly(left, right) { $0.addingReportingOverflow($1) } ?? normalized(left.double + right.double)
    }

    static func - (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        exactly(left, right) { $0.subtractingReportingOverflow($1) } ?? normalized(left.double - right.double)
    }

    static func * (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        // 0 × -5 is -0.
        if case .int(let first) = left, case .int(let second) = right, first != 0, second != 0 {
            let (product, overflow) = first.multipliedReportingOverflow(by: second)
            if !overflow { return .int(product) }
        }
        return normalized(left.double * right.double)
    }

    static func / (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        normalized(left.double / right.double)
    }

    /// JavaScript's `%`, whose sign is that of the left side.
    static func % (left: JavaScriptNumber, right: JavaScriptNumber) -> JavaScriptNumber {
        if case .int(let first) = left, case .int(let second) = right, first >= 0, second > 0 {
            return .int(first % second)
        }
        return normalized(left.double.truncatingRemainder(dividingBy: right.double))
    }

    package static func < (left: JavaScriptNumber, right: JavaScriptNumber) -> Bool {
        if case .int(let first) = left, case .int(let second) = right { return first < second }
        return left.double < right.double
    }

    package static func <= (left: JavaScriptNumber, right: JavaScriptNumber) -> Bool {
        if case .int(let first) = left, case .int(let second) = right { return first <= second }
        return left.double <= right.double
    }

    static let notANumber = JavaScriptNumber.double(.nan)

    var negated: JavaScriptNumber {
        if case .int(let value) = self, value != 0, value != .min { return .int(-value) }
        return .double(-double)
    }

    package var double: Double {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        }
    }

    var flagValue: FlagValue {
        switch self {
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        }
    }

    /// ECMAScript's `ToIntegerOrInfinity`, held within the range of an array's indexes.
    var index: Int {
        switch self {
        case .int(let value): return Int(clamping: value)
        case .double(let value):
            if value.isNaN { return 0 }
            return Int(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
        }
    }

    /// A whole number as an integer where it has an exact one, so that further arithmetic is exact too.
    static func normalized(_ value: Double) -> JavaScriptNumber {
        guard value.magnitude < 0x1p53, value.rounded(.towardZero) == value, value != 0 || value.sign == .plus
        else { return .double(value) }
        return .int(Int64(value))
    }

    private static func exactly(
        _ left: JavaScriptNumber,
        _ right: JavaScriptNumber,
        _ operation: (Int64, Int64) -> (partialValue: Int64, overflow: Bool)
    ) -> JavaScriptNumber? {
        guard case .int(let first) = left, case .int(let second) = right else { return nil }
        let (value, overflow) = operation(first, second)
        return overflow ? nil : .int(value)
    }
}

/// Truth, equality, order and conversions as jsonlogic.com defines them: JavaScript's, but an empty array is false.
extension FlagValue {
    /// False are null, false, 0, NaN, the empty text and the empty list. `"0"` and `{}` are true.
    package var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .int(let value): value != 0
        case .double(let value): value != 0 && !value.isNaN
        case .string(let value): !value.isEmpty
        case .list(let elements): !elements.isEmpty
        case .object: true
        }
    }

    /// JavaScript's `===`: the same type and the same value. Texts are the same when their bytes are. Two lists or
    /// two objects are never the same: JavaScript compares their identities, and every evaluation makes new ones.
    func isStrictlyEqual(to other: FlagValue) -> Bool {
        switch (self, other) {
        case (.null, .null): return true
        case (.bool(let left), .bool(let right)): return left == right
        case (.string(let left), .string(let right)): return left.hasSameBytes(as: right)
        default:
            guard let left = number, let right = other.number else { return false }
            return left == right
        }
    }

    /// JavaScript's `==`: values of different types are turned into numbers or texts first.
    func isLooselyEqual(to other: FlagValue) -> Bool {
        switch (self, other) {
        case (.null, .null): return true
        case (.null, _), (_, .null): return false
        case (.list, .list), (.list, .object), (.object, .list), (.object, .object): return false
        case (.string(let left), .string(let right)): return left.hasSameBytes(as: right)
        case (.list, .string(let text)), (.object, .string(let text)): return javaScriptText.hasSameBytes(as: text)
        case (.string(let text), .list), (.string(let text), .object):
            return other.javaScriptText.hasSameBytes(as: text)
        default:
            guard let left = convertedNumber, let right = other.convertedNumber else { return false }
            return left == right
        }
    }

    /// JavaScript's `<`, or its `<=`. Texts are compared with texts by their UTF-16 code units; anything else is
    /// turned into a number, and NaN is neither less nor greater than anything.
    func isLess(than other: FlagValue, orEqual: Bool) -> Bool {
        if case .int(let left) = self, case .int(let right) = other { return orEqual ? left <= right : left < right }
        if let left = primitiveText, let right = other.primitiveText {
            return orEqual ? !right.precedesInUTF16(left) : left.precedesInUTF16(right)
        }
        guard let left = convertedNumber, let right = other.convertedNumber else { return false }
        return orEqual ? left <= right : left < right
    }

    /// JavaScript's `String(value)`.
    package var javaScriptText: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .double(let value): JavaScriptNumber.double(value).text
        case .string(let value): value
        case .list(let elements): elements.map(\.joinedText).joined(separator: ",")
        case .object: "[object Object]"
        }
    }

    /// What `Array.prototype.join` makes of an element: null is nothing.
    var joinedText: String {
        if case .null = self { return "" }
        return javaScriptText
    }

    /// The number, or nil for a value of another type.
    package var number: JavaScriptNumber? {
        switch self {
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        default: nil
        }
    }

    /// JavaScript's `Number(value)`; nil is NaN.
    package var convertedNumber: JavaScriptNumber? {
        switch self {
        case .null: .int(0)
        case .bool(let value): .int(value ? 1 : 0)
        case .int(let value): .int(value)
        case .double(let value): value.isNaN ? nil : .double(value)
        case .string(let text): JavaScriptNumber(parsing: text)
        case .list: JavaScriptNumber(parsing: javaScriptText)
        case .object: nil
        }
    }

    /// JavaScript's `parseFloat(value)`; nil is NaN. It takes the beginning of a text, and nothing of null or true.
    var parsedNumber: JavaScriptNumber? {
        switch self {
        case .int(let value): .int(value)
        case .double(let value): value.isNaN ? nil : .double(value == 0 ? 0 : value)
        case .string(let text): JavaScriptNumber(parsingPrefixOf: text)
        case .list: JavaScriptNumber(parsingPrefixOf: javaScriptText)
        case .null, .bool, .object: nil
        }
    }

    /// The text of a value that JavaScript compares as a text: its `ToPrimitive` is one.
    private var primitiveText: String? {
        switch self {
        case .string(let text): text
        case .list, .object: javaScriptText
        case .null, .bool, .int, .double: nil
        }
    }
}

extension String {
    /// Whether the UTF-8 bytes are the same. Swift's `==` also takes different Unicode forms of a text for equal, and
    /// flagd does not.
    package func hasSameBytes(as other: String) -> Bool {
        // Texts of the same bytes are always equal, and for most pairs this is the quickest way to say no.
        self == other && utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// Whether the UTF-16 code units come before those of the other text. UTF-8 has the same order, but for the
    /// characters above U+FFFF, whose surrogates come before U+E000.
    fileprivate func precedesInUTF16(_ other: String) -> Bool {
        var left = utf8.makeIterator()
        var right = other.utf8.makeIterator()
        while true {
            guard let second = right.next() else { return false }
            guard let first = left.next() else { return true }
            if first == second { continue }
            let isSurrogate = (first >= 0xF0, second >= 0xF0)
            if isSurrogate.0 != isSurrogate.1, min(first, second) >= 0xEE { return isSurrogate.0 }
            return first < second
        }
    }
}
