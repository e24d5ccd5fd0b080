extension JSONParser {
    /// Parses the string whose opening quote `index` is on; leaves `index` after its closing quote.
    mutating func parseString() throws(FlagError) -> String {
        let start = index
        index += 1
        let contentStart = index
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                defer { index += 1 }
                return String(decoding: bytes[contentStart..<index], as: UTF8.self)
            case UInt8(ascii: "\\"):
                return try parseEscapedString(from: contentStart, start: start)
            case 0..<0x20:
                throw rawControlCharacter()
            default:
                index += 1
            }
        }
        throw error("the string that begins here is not closed", at: start)
    }

    /// The slower way, for a string with escapes; `index` is on the first backslash.
    private mutating func parseEscapedString(from contentStart: Int, start: Int) throws(FlagError) -> String {
        var content = Array(bytes[contentStart..<index])
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return String(decoding: content, as: UTF8.self)
            case UInt8(ascii: "\\"):
                content.append(contentsOf: String(try parseEscape()).utf8)
            case 0..<0x20:
                throw rawControlCharacter()
            default:
                content.append(byte)
                index += 1
            }
        }
        throw error("the string that begins here is not closed", at: start)
    }

    private mutating func parseEscape() throws(FlagError) -> Unicode.Scalar {
        let start = index
        guard index + 1 < bytes.count else { throw error("the file ends inside an escape", at: start) }
        let letter = bytes[index + 1]
        index += 2
        switch letter {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try parseUnicodeEscape(start: start)
        default:
            throw error("a backslash must be followed by one of \" \\ / b f n r t u", at: start)
        }
    }

    /// A code unit, or a pair of surrogates. A surrogate that stands alone names no character: it becomes U+FFFD, as
    /// in flagd, and a warning.
    private mutating func parseUnicodeEscape(start: Int) throws(FlagError) -> Unicode.Scalar {
        let first = try parseHexDigits(start: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        if first < 0xDC00, bytes[index...].starts(with: #"\u"#.utf8) {
            let afterFirst = index
            index += 2
            let second = try parseHexDigits(start: afterFirst)
            let isPair = (0xDC00...0xDFFF).contains(second)
            if isPair, let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)) {
                return scalar
            }
            index = afterFirst
        }
        warnings.add("this is a lone surrogate; it is read as U+FFFD", source, at: start)
        return "\u{FFFD}"
    }

    private mutating func parseHexDigits(start: Int) throws(FlagError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard index < bytes.count, let digit = Character(Unicode.Scalar(bytes[index])).hexDigitValue else {
                throw error("\\u must be followed by four hexadecimal digits", at: start)
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }

    private func rawControlCharacter() -> FlagError {
        error("a control character or a line end inside a string; write it as an escape", at: index)
    }
}
