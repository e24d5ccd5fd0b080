import Foundation
import HabitStore

/// A constant in a mapping, in JSON: a boolean, a number, a text or null. Dates are texts in ISO 8601, or seconds since 2001-01-01 UTC;
/// UUIDs are texts.
public enum MappedConstant: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)

    /// Decodes a constant.
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
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    /// Encodes the constant.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .int(let number): try container.encode(number)
        case .double(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        }
    }

    /// The value for an attribute; nil if it is not of the attribute's kind.
    package func value(of attribute: AttributeDescription) -> Value? {
        switch self {
        case .null: return attribute.isOptional ? .null : nil
        case .bool(let flag): return fit(.bool(flag), attribute)
        case .int(let number):
            let date = Value.date(Date(timeIntervalSinceReferenceDate: Double(number)))
            return attribute.kind == .date ? date : fit(.int(number), attribute)
        case .double(let number):
            let date = Value.date(Date(timeIntervalSinceReferenceDate: number))
            return attribute.kind == .date ? date : fit(.double(number), attribute)
        case .string(let text):
            guard attribute.kind == .date else { return fit(.string(text), attribute) }
            return (try? Date(text, strategy: .iso8601)).map { .date($0) }
        }
    }

    private func fit(_ value: Value, _ attribute: AttributeDescription) -> Value? {
        let fitted = ValueFit.fit(value, to: attribute)
        return fitted.problem == nil ? fitted.value : nil
    }
}
