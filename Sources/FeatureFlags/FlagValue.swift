/// A value of a flag, of its metadata, or of an attribute of an evaluation context.
public enum FlagValue: Sendable, Hashable {
    /// JSON's `null`.
    case null
    /// A boolean.
    case bool(Bool)
    /// A number that was written as an integer and fits into 64 bits.
    case int(Int64)
    /// Any other number.
    case double(Double)
    /// A text.
    case string(String)
    /// A list of values.
    case list([FlagValue])
    /// Values by name.
    case object([String: FlagValue])
}

extension FlagValue {
    /// The boolean, or nil for a value of another type.
    public var boolValue: Bool? {
        if case .bool(let value) = self { return value }
        return nil
    }

    /// The text, or nil for a value of another type.
    public var stringValue: String? {
        if case .string(let value) = self { return value }
        return nil
    }

    /// The values by name, or nil for a value of another type.
    public var objectValue: [String: FlagValue]? {
        if case .object(let value) = self { return value }
        return nil
    }

    /// The number as an integer, or nil where that would lose something: a fraction, or a floating-point number
    /// outside ±(2^53 - 1), which may have been rounded when it was read.
    public var intValue: Int64? {
        switch self {
        case .int(let value):
            return value
        case .double(let value):
            guard abs(value) <= Self.largestExactDouble else { return nil }
            return Int64(exactly: value)
        default:
            return nil
        }
    }

    /// The number as a floating-point number, or nil where that would lose something: an integer outside ±(2^53 - 1).
    public var doubleValue: Double? {
        switch self {
        case .int(let value):
            let number = Double(value)
            return abs(number) <= Self.largestExactDouble ? number : nil
        case .double(let value):
            return value
        default:
            return nil
        }
    }

    /// 2^53 - 1: the greatest integer up to which every integer has its own `Double`.
    private static let largestExactDouble = 9_007_199_254_740_991.0

    /// The type's name as JSON has it, for messages.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .int, .double: "number"
        case .string: "string"
        case .list: "array"
        case .object: "object"
        }
    }
}

extension FlagValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `nil` is JSON's null.
    public init(nilLiteral: ()) { self = .null }

    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// An integer.
    public init(integerLiteral value: Int64) { self = .int(value) }

    /// A floating-point number.
    public init(floatLiteral value: Double) { self = .double(value) }

    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// A list of values.
    public init(arrayLiteral elements: FlagValue...) { self = .list(elements) }

    /// Values by name; of two values with one name the last stays.
    public init(dictionaryLiteral elements: (String, FlagValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}

/// The types that a flag's value can be asked for as.
public enum FlagValueType: String, Sendable, CaseIterable {
    /// `true` or `false`.
    case boolean
    /// A text.
    case string
    /// A whole number.
    case int
    /// A floating-point number.
    case double
    /// Values by name.
    case object

    /// The type's name in a message.
    var name: String {
        switch self {
        case .boolean: "boolean"
        case .string: "string"
        case .int: "whole number"
        case .double: "floating-point number"
        case .object: "object"
        }
    }

    /// Whether a value can be had as this type without losing anything.
    func fits(_ value: FlagValue) -> Bool {
        switch self {
        case .boolean: value.boolValue != nil
        case .string: value.stringValue != nil
        case .int: value.intValue != nil
        case .double: value.doubleValue != nil
        case .object: value.objectValue != nil
        }
    }
}
