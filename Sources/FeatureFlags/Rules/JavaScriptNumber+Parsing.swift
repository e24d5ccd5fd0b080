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
