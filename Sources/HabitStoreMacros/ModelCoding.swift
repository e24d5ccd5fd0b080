import HabitStore

/// What code that `@Model` makes calls for types that a macro cannot know: the compiler chooses how they are kept. Apps do not
/// call it.
public enum ModelCoding {
    /// Types that say themselves how they are kept: enums that declare ``AttributeEnum``, ``JSONAttribute``, an app's own.
    @inlinable
    public static func of<V: AttributeConvertible>(_ type: V.Type) -> ConvertibleCoding<V> { ConvertibleCoding() }

    /// An optional of an optional, as a type alias can hide one.
    public static func of<V: AttributeConvertible>(_ type: V??.Type) -> RefusedOptionalCoding<ConvertibleCoding<V??>> {
        .init(coding: .init())
    }

    /// An optional of an optional that would be kept as JSON.
    @_disfavoredOverload
    public static func of<V: Codable & Sendable & Equatable>(
        _ type: V??.Type
    ) -> RefusedOptionalCoding<OptionalJSONCoding<V?>> { .init(coding: .init()) }

    /// Any other `Codable` type, kept as JSON.
    @inlinable
    @_disfavoredOverload
    public static func of<V: Codable & Sendable & Equatable>(_ type: V.Type) -> JSONCoding<V> { JSONCoding() }

    /// Any other `Codable` type or nil.
    @inlinable
    @_disfavoredOverload
    public static func of<V: Codable & Sendable & Equatable>(_ type: V?.Type) -> OptionalJSONCoding<V> {
        OptionalJSONCoding()
    }

    /// A set of options, kept as JSON: the number.
    @inlinable
    @_disfavoredOverload
    public static func of<V: OptionSet & Codable & Sendable & Equatable>(_ type: V.Type) -> JSONCoding<V>
    where V.RawValue: AttributeConvertible { JSONCoding() }

    /// A set of options or nil.
    @inlinable
    @_disfavoredOverload
    public static func of<V: OptionSet & Codable & Sendable & Equatable>(_ type: V?.Type) -> OptionalJSONCoding<V>
    where V.RawValue: AttributeConvertible { OptionalJSONCoding() }

    /// An enum with a raw value that does not say that it is kept by it.
    @_disfavoredOverload
    public static func of<V: RawRepresentable & Codable & Sendable & Equatable>(_ type: V.Type) -> RawValueCoding<V>
    where V.RawValue: AttributeConvertible { RawValueCoding() }

    /// An enum with a raw value that does not say that it is kept by it, or nil.
    @_disfavoredOverload
    public static func of<V: RawRepresentable & Codable & Sendable & Equatable>(_ type: V?.Type) -> RawValueCoding<V?>
    where V.RawValue: AttributeConvertible { RawValueCoding() }

    /// Another model, which a relationship leads to.
    @_disfavoredOverload
    public static func of<V: PersistentModel>(_ type: V.Type) -> RefusedModelCoding<JSONCoding<V>> {
        .init(coding: .init())
    }

    /// Another model or nil.
    @_disfavoredOverload
    public static func of<V: PersistentModel>(_ type: V?.Type) -> RefusedModelCoding<OptionalJSONCoding<V>> {
        .init(coding: .init())
    }

    /// Other models.
    @_disfavoredOverload
    public static func of<V: PersistentModel>(_ type: [V].Type) -> RefusedModelsCoding<JSONCoding<[V]>> {
        .init(coding: .init())
    }

    /// Other models or nil.
    @_disfavoredOverload
    public static func of<V: PersistentModel>(_ type: [V]?.Type) -> RefusedModelsCoding<OptionalJSONCoding<[V]>> {
        .init(coding: .init())
    }

    /// Any other type, which cannot be kept.
    @_disfavoredOverload
    public static func of<V>(_ type: V.Type) -> RefusedCoding { RefusedCoding() }
}
