import Foundation
import HabitStore

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

/// A JSON value of unknown type: source data other than what is imported.
public enum ImportJSON: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([ImportJSON])
    case object([String: ImportJSON])

    /// Decodes any JSON value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(Int64.self) {
            self = .int(number)
        } else if let number = try? container.decode(Double.self) {
            self = .double(number)
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let elements = try? container.decode([ImportJSON].self) {
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: ImportJSON].self))
        }
    }

    /// Encodes the value; numbers that JSON cannot express become texts.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .int(let number): try container.encode(number)
        case .double(let number) where number.isFinite: try container.encode(number)
        case .double(let number): try container.encode("\(number)")
        case .string(let text): try container.encode(text)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }

    /// The value of a database column.
    package init(_ value: SourceValue) {
        switch value {
        case .null: self = .null
        case .int(let number): self = .int(number)
        case .real(let number): self = .double(number)
        case .text(let text): self = .string(text)
        case .blob(let bytes), .malformedText(let bytes): self = .string(bytes.base64EncodedString())
        }
    }

    /// Whether it is null or empty.
    package var isEmpty: Bool {
        switch self {
        case .null, .string(""), .array([]), .object([:]): true
        default: false
        }
    }

    package var text: String? {
        if case .string(let text) = self { return text }
        return nil
    }

    package var flag: Bool? {
        if case .bool(let flag) = self { return flag }
        return nil
    }

    package var number: Double? {
        switch self {
        case .int(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    package var integer: Int? {
        switch self {
        case .int(let number): Int(number)
        case .double(let number): Int(exactly: number)
        default: nil
        }
    }

    package var elements: [ImportJSON]? {
        if case .array(let elements) = self { return elements }
        return nil
    }

    package var members: [String: ImportJSON]? {
        if case .object(let members) = self { return members }
        return nil
    }
}

/// Refuses JSON from which a decoder would silently drop something (all but one of several members with the same name, the last digits of
/// long numbers), and JSON in another encoding, which the verification cannot read.
package enum JSONMembers {
    /// - Parameter wholeNumbers: whether to refuse integers of more than 64 bits, too.
    /// - Throws: ``HabitStoreError/Code/invalidSource`` with the member and its place.
    package static func require(_ bytes: [UInt8], wholeNumbers: Bool = false, path: String) throws {
        guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
            throw HabitStoreError(.invalidSource, "the JSON is not text in UTF-8", at: .init(path: path))
        }
        // The names in the open objects; nil for an array.
        var open: [Set<String>?] = []
        var awaitsName = false
        var (position, line, lineStart) = (0, 1, 0)
        func failure(_ what: String) -> HabitStoreError {
            let place = "line \(line), byte \(position - lineStart + 1)"
            return HabitStoreError(.invalidSource, "\(what) (\(place))", at: .init(path: path))
        }
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "{"):
                open.append([])
                awaitsName = true
            case UInt8(ascii: "["):
                open.append(nil)
                awaitsName = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = open.popLast()
                awaitsName = false
            case UInt8(ascii: ","): awaitsName = open.last.map { $0 != nil } ?? false
            case UInt8(ascii: "\n"): (line, lineStart) = (line + 1, position + 1)
            case UInt8(ascii: "\""):
                let end = end(of: bytes, from: position)
                if awaitsName, !open.isEmpty {
                    let name = text(bytes[position..<end])
                    if open[open.count - 1]?.insert(name).inserted == false {
                        throw failure("the member \"\(name)\" is there twice in one object")
                    }
                    awaitsName = false
                }
                position = end
                continue
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let token = bytes[position...].prefix { "+-.0123456789eE".utf8.contains($0) }
                let digits = String(decoding: token, as: UTF8.self)
                if wholeNumbers, token.dropFirst().allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), Int64(digits) == nil,
                    token.count > 1
                {
                    throw failure("a number has more digits than can be kept: put it in quotes")
                }
                position += token.count
                continue
            default: break
            }
            position += 1
        }
    }

    /// The position after a quoted text.
    private static func end(of bytes: [UInt8], from start: Int) -> Int {
        var position = start + 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position + 1, bytes.count)
    }

    private static func text(_ quoted: ArraySlice<UInt8>) -> String {
        let plain = String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
        guard quoted.contains(UInt8(ascii: "\\")) else { return plain }
        // The decoder of the file refuses a malformed text.
        return (try? JSONDecoder().decode(String.self, from: Data(quoted))) ?? plain
    }
}

/// Refuses JSON nested so deeply that decoding it could exhaust the stack.
package enum JSONDepth {
    package static let maximum = 256

    package static func require(_ bytes: some Sequence<UInt8>, path: String) throws {
        var depth = 0
        var isText = false
        var isEscaped = false
        for byte in bytes {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            guard depth <= maximum else {
                throw HabitStoreError(
                    .limitExceeded,
                    "the JSON is nested deeper than \(maximum) levels",
                    at: .init(path: path)
                )
            }
        }
    }
}

/// Quotes texts for JSON.
enum JSONText {
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\0"..<" ":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
