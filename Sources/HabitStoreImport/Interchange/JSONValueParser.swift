import Foundation

/// Parses a JSON value (RFC 8259): 64-bit integers and doubles are exact, and duplicate members are an error.
package struct JSONValueParser {
    /// Describes a syntax error.
    package struct Failure: Error {
        package let message: String
    }

    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Parses bytes as a value, which may have white space around it.
    package static func parse(_ bytes: [UInt8]) throws(Failure) -> ImportJSON {
        var parser = JSONValueParser(bytes)
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.position == bytes.count else { throw Failure(message: "something follows the value") }
        return value
    }

    private mutating func value(depth: Int) throws(Failure) -> ImportJSON {
        guard depth <= JSONDepth.maximum else { throw Failure(message: "it is nested too deep") }
        skipSpace()
        guard position < bytes.count else { throw Failure(message: "it ends where a value should be") }
        switch bytes[position] {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws(Failure) -> ImportJSON {
        position += 1
        var members: [String: ImportJSON] = [:]
        skipSpace()
        if take("}") { return .object(members) }
        while true {
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                throw Failure(message: "a member has no name")
            }
            let start = position
            let name = try string()
            skipSpace()
            guard take(":") else { throw Failure(message: "a member has no value") }
            guard members.updateValue(try value(depth: depth + 1), forKey: name) == nil else {
                throw Failure(message: "the member \"\(name)\" is there twice in one object, at byte \(start + 1)")
            }
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw Failure(message: "an object has no end") }
        }
    }

    private mutating func array(depth: Int) throws(Failure) -> ImportJSON {
        position += 1
        var elements: [ImportJSON] = []
        skipSpace()
        if take("]") { return .array(elements) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipSpace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw Failure(message: "an array has no end") }
        }
    }

    private mutating func string() throws(Failure) -> String {
        position += 1
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let result = String(validating: text, as: UTF8.self) else {
                    throw Failure(message: "a text is not UTF-8")
                }
                return result
            case UInt8(ascii: "\\"): try escape(&text)
            case 0..<0x20: throw Failure(message: "a text holds a control character")
            default: text.append(byte)
            }
        }
        throw Failure(message: "a text has no end")
    }

    private mutating func escape(_ text: inout [UInt8]) throws(Failure) {
        guard position < bytes.count else { throw Failure(message: "a text has no end") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var unit = try hexadecimal()
            if 0xD800..<0xDC00 ~= unit {
                guard take("\\"), take("u") else { throw Failure(message: "half of a character is missing") }
                let low = try hexadecimal()
                guard 0xDC00..<0xE000 ~= low else { throw Failure(message: "half of a character is missing") }
                unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(unit) else { throw Failure(message: "half of a character is missing") }
            text += Array(String(scalar).utf8)
        default: throw Failure(message: "a text holds an escape that is not known")
        }
    }

    private mutating func hexadecimal() throws(Failure) -> UInt32 {
        guard position + 4 <= bytes.count,
            let digits = String(validating: bytes[position..<(position + 4)], as: UTF8.self),
            digits.allSatisfy(\.isHexDigit), let number = UInt32(digits, radix: 16)
        else { throw Failure(message: "a text holds an escape that is not known") }
        position += 4
        return number
    }

    private mutating func number() throws(Failure) -> ImportJSON {
        let start = position
        var isWhole = true
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"): break
            case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): isWhole = false
            default: return try number(start, isWhole)
            }
            position += 1
        }
        return try number(start, isWhole)
    }

    private func number(_ start: Int, _ isWhole: Bool) throws(Failure) -> ImportJSON {
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let isPlain = digits.first?.isNumber == true && (digits.count == 1 || !digits.hasPrefix("0") || !isWhole)
        if isPlain, isWhole, let number = Int64(text) { return .int(number) }
        guard isPlain, let number = Double(text), number.isFinite else { throw Failure(message: "a value is none") }
        return .double(number)
    }

    private mutating func word(_ word: String, _ value: ImportJSON) throws(Failure) -> ImportJSON {
        guard bytes[position...].starts(with: word.utf8) else { throw Failure(message: "a value is none") }
        position += word.utf8.count
        return value
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: scalar) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }
}
