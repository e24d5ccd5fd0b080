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
