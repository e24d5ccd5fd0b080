extension JSONParser {
    /// The number whose first byte `index` is on: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
    mutating func parseNumber() throws(FlagError) -> JSONNode.Value {
        let start = index
        var isInteger = true
        skip(UInt8(ascii: "-"))
        let firstDigit = index
        try skipDigits(start: start)
        if bytes[firstDigit] == UInt8(ascii: "0"), index > firstDigit + 1 {
            throw error("a number must not begin with a zero", at: start)
        }
        if skip(UInt8(ascii: ".")) {
            isInteger = false
            try skipDigits(start: start)
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            isInteger = false
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            try skipDigits(start: start)
        }
        // Not an error of the file: what the number stands in is refused, see `unusableNumber`.
        guard index - start <= FlagLimits.numberLengthBytes else { return .double(.nan) }
        return value(of: String(decoding: bytes[start..<index], as: UTF8.self), isInteger, start)
    }

    private mutating func value(
        of text: String,
        _ isInteger: Bool,
        _ start: Int
    ) -> JSONNode.Value {
        if isInteger {
            if let integer = Int64(text) { return .int(integer) }
            warnings.add("an integer does not fit into 64 bits; it is rounded", source, at: start)
        }
        return .double(Double(text) ?? .nan)
    }

    private mutating func skipDigits(start: Int) throws(FlagError) {
        let first = index
        while index < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) { index += 1 }
        guard index > first else { throw error("a number lacks a digit", at: start) }
    }

    @discardableResult
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }
}
