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

    /// Whether the value's type says that it has one value.
    public static var hasOneValue: Bool { (Wrapped.self as? any JSONAttributeProbing.Type)?.hasOneValue ?? false }

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

    /// True: ``attributeValue()`` compares each value.
    public static var alwaysReadsBackEqual: Bool { true }

    /// The JSON, with sorted keys.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for a value that cannot be encoded, or that its JSON does not decode to: a
    ///   `Decimal` that is NaN, a `URL` that is relative to another one.
    public func attributeValue() throws -> Value {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json: Data
        do {
            json = try encoder.encode(wrappedValue)
        } catch {
            throw HabitStoreError(
                .invalidValue,
                "a Codable attribute of type \(Wrapped.self) could not be encoded as JSON",
                underlying: error
            )
        }
        let decoded: Wrapped
        do {
            decoded = try JSONDecoder().decode(Wrapped.self, from: json)
        } catch {
            throw HabitStoreError(
                .invalidValue,
                "a value of type \(Wrapped.self) could not be decoded from the JSON that it is kept as: a Decimal in it may be NaN; "
                    + "store a value that can be read back, or nil",
                underlying: error
            )
        }
        guard decoded == wrappedValue else {
            throw HabitStoreError(
                .invalidValue,
                "a value of type \(Wrapped.self) would be read back as a different value from the JSON that it is kept as: of a relative URL "
                    + "store the absoluteURL; otherwise let its init(from:) restore all that == compares"
            )
        }
        return .data(json)
    }
}
