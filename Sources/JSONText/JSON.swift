import Foundation

/// A JSON value. Members have no order: documents are written with sorted keys, so that two runs can be compared line by line.
package enum JSON: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Parses a document in UTF-8, which may have white space around its value. 64-bit integers and doubles are exact.
    package init(parsing bytes: [UInt8], _ rules: JSONParser.Rules = .exact) throws(JSONFailure) {
        if let offset = UTF8Validation.firstInvalidOffset(in: bytes) {
            throw JSONFailure("a text is not UTF-8", offset: offset)
        }
        var parser = JSONParser(bytes, rules)
        self.init(try parser.parse())
    }

    /// The value without its places. The depth of a document is limited, and so is the recursion.
    package init(_ node: JSONNode) {
        switch node.value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .int(let number): self = .int(number)
        case .double(let number): self = .double(number)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { JSON($0) })
        case .object(let members):
            self = .object(Dictionary(uniqueKeysWithValues: members.lazy.map { ($0.key, JSON($0.value)) }))
        }
    }

    /// Decodes any JSON value.
    package init(from decoder: any Decoder) throws {
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
        } else if let elements = try? container.decode([JSON].self) {
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    /// Encodes the value; numbers that JSON cannot express become texts.
    package func encode(to encoder: any Encoder) throws {
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
}

extension JSON {
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

    package var elements: [JSON]? {
        if case .array(let elements) = self { return elements }
        return nil
    }

    package var members: [String: JSON]? {
        if case .object(let members) = self { return members }
        return nil
    }
}

extension JSON {
    /// A text in quotes.
    package static func quoted(_ text: String) -> String {
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

    /// A document of sorted keys, so that equal values have equal texts.
    package static func encoded(
        _ value: some Encodable,
        _ formatting: JSONEncoder.OutputFormatting = [.withoutEscapingSlashes]
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting.union(.sortedKeys)
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

/// An object of values of any types. Unlike a structure's optional properties, a nil is written, as null.
package struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
    private var members: [String: (any Encodable)?] = [:]

    /// Of two values with the same name, the last counts.
    package init(dictionaryLiteral members: (String, (any Encodable)?)...) {
        for (name, value) in members { self[name] = value }
    }

    /// The value of a member. Setting it to nil makes it null.
    package subscript(name: String) -> (any Encodable)? {
        get { members[name] ?? nil }
        set { members.updateValue(newValue, forKey: name) }
    }

    /// The same without the members that are nil.
    package var omittingNil: JSONObject {
        var result = self
        result.members = members.filter { $0.value != nil }
        return result
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for (name, value) in members {
            let name = Name(stringValue: name)
            if let value { try container.encode(value, forKey: name) } else { try container.encodeNil(forKey: name) }
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
