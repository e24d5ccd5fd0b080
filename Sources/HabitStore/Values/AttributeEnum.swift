import Foundation

/// An enum that an attribute can have: it is kept as its raw value, and filters compare raw values.
///
/// Declare `enum Mood: String, AttributeEnum { case good, bad }` and nothing more.
public protocol AttributeEnum: RawRepresentable, CaseIterable, AttributeConvertible
where RawValue: AttributeConvertible {}

extension AttributeEnum {
    /// The kind of the raw value.
    public static var attributeKind: AttributeKind { RawValue.attributeKind }

    /// Whether there is one case.
    public static var hasOneValue: Bool { allCases.count == 1 }

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

/// A `Codable` value as one attribute, kept as JSON with sorted keys.
///
/// Filters cannot look into it natively; a predicate that does is answered by evaluation over a scan.
@propertyWrapper
public struct JSONAttribute<Wrapped: Codable & Sendable & Equatable & JSONAttributeProbing>: AttributeConvertible,
    Codable, Equatable
{
    /// The value.
    public var wrappedValue: Wrapped

    /// Wraps a value.
    public init(wrappedValue: Wrapped) { self.wrappedValue = wrappedValue }

    /// ``AttributeKind/data``.
    public static var attributeKind: AttributeKind { .data }

    /// Whether the value's type has one value.
    public static var hasOneValue: Bool { Wrapped.hasOneValue }

    /// The JSON of a sample.
    public static func probe(position: Int) -> Value {
        (try? JSONAttribute(wrappedValue: Wrapped.probe(position: position)).attributeValue()) ?? .null
    }

    /// Decodes the JSON; nil when it does not decode.
    public init?(attributeValue: Value) {
        guard case .data(let json) = attributeValue,
            let value = try? JSONDecoder().decode(Wrapped.self, from: json)
        else { return nil }
        wrappedValue = value
    }

    /// The JSON, with sorted keys.
    public func attributeValue() throws -> Value {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return .data(try encoder.encode(wrappedValue))
        } catch {
            throw HabitStoreError(
                .invalidValue,
                "a Codable attribute of type \(Wrapped.self) could not be encoded as JSON",
                underlying: error
            )
        }
    }
}

/// A `Codable` value that can give samples of itself, so that a model's mapping can be proven.
public protocol JSONAttributeProbing {
    /// A value that tells the attribute at `position` from the others.
    static func probe(position: Int) -> Self
    /// Whether the type has one value and no other; see ``AttributeConvertible/hasOneValue``.
    static var hasOneValue: Bool { get }
}

extension JSONAttributeProbing {
    /// It has several, unless a type says otherwise.
    public static var hasOneValue: Bool { false }
}
