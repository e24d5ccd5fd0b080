import HabitStore

/// How a type is kept that says so itself.
public struct ConvertibleCoding<V: AttributeConvertible>: UniqueCoding, Sendable {
    @inlinable init() {}

    /// Itself: types that cannot be kept have no such property.
    @inlinable public var kept: Self { self }

    /// The next attribute of a row.
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
