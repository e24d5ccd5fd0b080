import HabitStore

/// Stores a `Codable` type as JSON.
public struct JSONCoding<V: Codable & Sendable & Equatable>: Sendable {
    @inlinable init() {}

    /// Itself: codings of types that cannot be stored have no such property.
    @inlinable public var kept: Self { self }

    /// Makes the compiler report why its values cannot be unique.
    @available(
        *,
        unavailable,
        message: "it is kept as JSON, which can differ where values are equal: keep what is unique as text or a number"
    )
    public var unique: Self { self }

    /// Makes the compiler report why its values cannot be indexed.
    @available(
        *,
        unavailable,
        message:
            "it is kept as JSON, so that no filter or order could use the index: take it out of the index, or keep it as a number or text"
    )
    public var indexed: Self { self }

    /// Reads the next attribute of a row.
    @inlinable
    public func next(_ row: inout AttributeReader) throws -> V { try row.next(JSONAttribute<V>.self).wrappedValue }

    /// Writes the next attribute.
    @inlinable
    public func append(_ value: V, to row: inout AttributeWriter) throws {
        try row.append(converting: JSONAttribute(wrappedValue: value))
    }

    /// Declares an attribute.
    public func attribute<M: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, V> & Sendable,
        _ options: AttributeDescription.Options = [],
        default defaultValue: V? = nil,
        originalName: String? = nil
    ) -> AttributeDescription {
        .json(name, keyPath, options, default: defaultValue, originalName: originalName)
    }
}
