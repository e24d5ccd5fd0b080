import HabitStore

/// Stores a type that conforms to ``AttributeConvertible``.
public struct ConvertibleCoding<V: AttributeConvertible>: UniqueCoding, Sendable {
    @inlinable init() {}

    /// Itself: codings of types that cannot be stored have no such property.
    @inlinable public var kept: Self { self }

    /// Reads the next attribute of a row.
    @inlinable
    public func next(_ row: inout AttributeReader) throws -> V { try row.next(V.self) }

    /// Writes the next attribute.
    @inlinable
    public func append(_ value: V, to row: inout AttributeWriter) throws {
        try row.append(converting: value)
    }

    /// Declares an attribute.
    public func attribute<M: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, V> & Sendable,
        _ options: AttributeDescription.Options = [],
        default defaultValue: V? = nil,
        originalName: String? = nil
    ) -> AttributeDescription {
        .attribute(name, keyPath, options, default: defaultValue, originalName: originalName)
    }
}
