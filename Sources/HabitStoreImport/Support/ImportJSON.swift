import Foundation

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
