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
