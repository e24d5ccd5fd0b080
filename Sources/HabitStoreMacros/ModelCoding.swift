import HabitStore

/// Called by the code that `@Model` generates for types that a macro cannot know: the compiler chooses how to store them. Apps do
/// not call it.
public enum ModelCoding {
    /// A type that defines how it is stored: an enum that declares ``AttributeEnum``, ``JSONAttribute``, or a type of the app.
    @inlinable
    public static func of<V: AttributeConvertible>(_ type: V.Type) -> ConvertibleCoding<V> { ConvertibleCoding() }

    /// An optional of an optional, possibly hidden by a type alias.
    public static func of<V: AttributeConvertible>(_ type: V??.Type) -> RefusedOptionalCoding<ConvertibleCoding<V??>> {
        .init(coding: .init())
    }

    /// An optional of an optional that would be stored as JSON.
    @_disfavoredOverload
    public static func of<V: Codable & Sendable & Equatable>(
        _ type: V??.Type
    ) -> RefusedOptionalCoding<OptionalJSONCoding<V?>> { .init(coding: .init()) }

    /// Any other `Codable` type, stored as JSON.
    @inlinable
    @_disfavoredOverload
    public static func of<V: Codable & Sendable & Equatable>(_ type: V.Type) -> JSONCoding<V> { JSONCoding() }

    /// Any other optional `Codable` type.
    @inlinable
    @_disfavoredOverload
    public static func of<V: Codable & Sendable & Equatable>(_ type: V?.Type) -> OptionalJSONCoding<V> {
        OptionalJSONCoding()
    }

    /// An option set, stored as JSON: its number.
    @inlinable
    @_disfavoredOverload
    public static func of<V: OptionSet & Codable & Sendable & Equatable>(_ type: V.Type) -> JSONCoding<V>
    where V.RawValue: AttributeConvertible { JSONCoding() }

    /// An optional option set.
    @inlinable
    @_disfavoredOverload
    public static func of<V: OptionSet & Codable & Sendable & Equatable>(_ type: V?.Type) -> OptionalJSONCoding<V>
    where V.RawValue: AttributeConvertible { OptionalJSONCoding() }

    /// An enum with a raw value that does not declare ``AttributeEnum``.
    @_disfavoredOverload
    public static func of<V: RawRepresentable & Codable & Sendable & Equatable>(_ type: V.Type) -> RawValueCoding<V>
    where V.RawValue: AttributeConvertible { RawValueCoding() }

    /// An optional enum with a raw value that does not declare ``AttributeEnum``.
    @_disfavoredOverload
    public static func of<V: RawRepresentable & Codable & Sendable & Equatable>(_ type: V?.Type) -> RawValueCoding<V?>
    where V.RawValue: AttributeConvertible { RawValueCoding() }

    /// Another model, which needs a relationship.
    @_disfavoredOverload
    public static func of<V: PersistentModel>(_ type: V.Type) -> RefusedModelCoding<JSONCoding<V>> {
        .init(coding: .init())
    }

    /// Another model, optional.
    @_disfavoredOverload
    public static func of<V: PersistentModel>(_ type: V?.Type) -> RefusedModelCoding<OptionalJSONCoding<V>> {
        .init(coding: .init())
    }

    /// Other models.
    @_disfavoredOverload
    public static func of<V: PersistentModel>(_ type: [V].Type) -> RefusedModelsCoding<JSONCoding<[V]>> {
        .init(coding: .init())
    }

    /// Other models, optional.
    @_disfavoredOverload
    public static func of<V: PersistentModel>(_ type: [V]?.Type) -> RefusedModelsCoding<OptionalJSONCoding<[V]>> {
        .init(coding: .init())
    }

    /// Any other type, which cannot be stored.
    @_disfavoredOverload
    public static func of<V>(_ type: V.Type) -> RefusedCoding { RefusedCoding() }
}

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

/// Stores an optional `Codable` type as JSON or null.
public struct OptionalJSONCoding<V: Codable & Sendable & Equatable>: Sendable {
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
    public func next(_ row: inout AttributeReader) throws -> V? { try row.next(JSONAttribute<V>?.self)?.wrappedValue }

    /// Writes the next attribute.
    @inlinable
    public func append(_ value: V?, to row: inout AttributeWriter) throws {
        try row.append(converting: value.map { JSONAttribute(wrappedValue: $0) })
    }

    /// Declares an attribute.
    public func attribute<M: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, V?> & Sendable,
        _ options: AttributeDescription.Options = [],
        default defaultValue: V? = nil,
        originalName: String? = nil
    ) -> AttributeDescription {
        .json(name, keyPath, options, default: defaultValue, originalName: originalName)
    }
}

/// A coding that stores equal values equally, so that they can be unique; or one that rejects its type with a more important error.
public protocol UniqueCoding {}

extension UniqueCoding {
    /// Itself: codings as JSON make this property unavailable.
    public var unique: Self { self }

    /// Itself, like ``unique``.
    public var indexed: Self { self }
}

/// Rejects an enum that does not declare ``AttributeEnum`` with an error of the compiler.
public struct RawValueCoding<V: Codable & Sendable & Equatable>: UniqueCoding, Sendable {
    /// Makes the compiler report what is missing.
    @available(*, unavailable, message: "an enum is kept by its raw value: let it declare AttributeEnum")
    public var kept: JSONCoding<V> { JSONCoding() }
}

/// Rejects a type that cannot be stored with an error of the compiler.
public struct RefusedCoding: UniqueCoding, Sendable {
    /// Makes the compiler report the requirement.
    @available(
        *,
        unavailable,
        message: "an attribute's type must be AttributeConvertible, or Codable, Sendable and Equatable"
    )
    public var kept: RefusedCoding { self }
}

/// Rejects an optional of an optional, whose inner nil would be read back as nil.
public struct RefusedOptionalCoding<Coding: Sendable>: UniqueCoding, Sendable {
    let coding: Coding

    /// Makes the compiler report this as the only error.
    @available(
        *,
        unavailable,
        message: "an optional of an optional would be read back as nil where it holds nil: declare it optional once"
    )
    public var kept: Coding { coding }
}

/// Rejects a model as an attribute, which would be stored as a copy that changes of the record do not reach.
public struct RefusedModelCoding<Coding: Sendable>: UniqueCoding, Sendable {
    let coding: Coding

    /// Makes the compiler report this as the only error.
    @available(
        *,
        unavailable,
        message: "a model is not an attribute but the target of a relationship: write @ToOne before it"
    )
    public var kept: Coding { coding }
}

/// Rejects several models as an attribute.
public struct RefusedModelsCoding<Coding: Sendable>: UniqueCoding, Sendable {
    let coding: Coding

    /// Makes the compiler report this as the only error.
    @available(
        *,
        unavailable,
        message: "models are not an attribute but the targets of a relationship: write @ToMany or @ManyToMany before it"
    )
    public var kept: Coding { coding }
}
