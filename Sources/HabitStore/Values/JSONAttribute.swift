import Foundation

/// A `Codable` value as one attribute, kept as JSON with sorted keys.
///
/// Filters cannot look into it natively; a predicate that does is answered by evaluation over a scan.
@propertyWrapper
public struct JSONAttribute<Wrapped: Codable & Sendable & Equatable>: AttributeConvertible, Codable, Equatable {
    /// The value.
    public var wrappedValue: Wrapped

    /// Wraps a value.
    public init(wrappedValue: Wrapped) { self.wrappedValue = wrappedValue }

    /// ``AttributeKind/data``.
    public static var attributeKind: AttributeKind { .data }

    /// Whether the value's type has one value, or no samples that differ.
    public static var hasOneValue: Bool {
        if let type = Wrapped.self as? any JSONAttributeProbing.Type { return type.hasOneValue }
        return probe(position: 0) == probe(position: 1)
    }

    /// The JSON of a sample: the type's own if it is ``JSONAttributeProbing``, otherwise a made-up one. Null where none can be
    /// made; the attribute's default stands in for it then.
    public static func probe(position: Int) -> Value {
        let type = Wrapped.self as? any JSONAttributeProbing.Type
        let own = type?.probe(position: position) as? Wrapped
        guard let sample = own ?? JSONSample.make(Wrapped.self, position) else { return .null }
        return (try? JSONAttribute(wrappedValue: sample).attributeValue()) ?? .null
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
