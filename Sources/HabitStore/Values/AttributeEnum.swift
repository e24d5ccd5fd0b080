import Foundation

/// An enum that an attribute can have: it is kept as its raw value, and filters compare raw values.
///
/// Declare `enum Mood: String, AttributeEnum { case good, bad }` and nothing more.
public protocol AttributeEnum: RawRepresentable, CaseIterable, Codable, AttributeConvertible
where RawValue: AttributeConvertible {}

extension AttributeEnum {
    /// The kind of the raw value.
    public static var attributeKind: AttributeKind { RawValue.attributeKind }

    /// Whether there is one case.
    public static var hasOneValue: Bool { allCases.count == 1 }

    /// A case has one raw value.
    public static var alwaysReadsBackEqual: Bool { true }

    /// The raw value of one of the cases.
    public static func probe(position: Int) -> Value {
        let cases = Array(allCases)
        guard !cases.isEmpty, let value = try? cases[position % cases.count].attributeValue() else { return .null }
        return value
    }

    /// Takes the raw value of a case; nil for a raw value that no case has.
    public init?(attributeValue: Value) {
        guard let raw = RawValue(attributeValue: attributeValue) else { return nil }
        self.init(rawValue: raw)
    }

    /// The raw value.
    public func attributeValue() throws -> Value { try rawValue.attributeValue() }
}
