import Foundation

/// One stored attribute of an entity.
public struct AttributeDescription: Sendable {
    /// The name: the column in SQLite, the word in filters.
    public let name: String
    /// How it is kept.
    public let kind: AttributeKind
    /// Whether nil is allowed.
    public let isOptional: Bool
    /// Whether two records may not have the same value (nil aside).
    public let isUnique: Bool
    /// Whether the value is kept in the tombstone of a deleted record.
    public let preservesValueOnDeletion: Bool
    /// The value of records that were written before the attribute existed; nil for none.
    public let defaultValue: Value?
    /// The name that the attribute had in the schema version before; nil when it had the same or was not there.
    public var originalName: String?
    /// Whether the default that was declared is none that a store can keep.
    var hasInvalidDefault = false
    /// Whether its type has one value and no other.
    var hasOneValue = false
    /// Whether predicates that name it are evaluated, as JSON's are: its bytes say nothing that filters understand.
    var isOpaque = false
    /// The model of which records would be copied into this attribute.
    var copiedModel: (any PersistentModel.Type)?
    /// The model's key path.
    public let keyPath: any AnyKeyPath & Sendable
    let probe: @Sendable (Int) -> Value
    /// The attribute's value in a model.
    let extract: @Sendable (any PersistentModel) throws -> Value

    /// Options of an attribute.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: Int
        /// Makes options from bits.
        public init(rawValue: Int) { self.rawValue = rawValue }
        /// Two records may not have the same value.
        public static let unique = Options(rawValue: 1)
        /// The value is kept in the tombstone of a deleted record.
        public static let preserveValueOnDeletion = Options(rawValue: 2)
    }

    /// Declares an attribute. The kind and the optionality follow from the key path's type.
    ///
    /// - Parameters:
    ///   - defaultValue: what the records of an older schema version get that do not have the attribute, or have nil there
    ///     while it may no longer be nil.
    ///   - originalName: the attribute's name in the schema version before, if it had another.
    public static func attribute<M: PersistentModel, V: AttributeConvertible>(
        _ name: String,
        _ keyPath: any KeyPath<M, V> & Sendable,
        _ options: Options = [],
        default defaultValue: V? = nil,
        originalName: String? = nil
    ) -> AttributeDescription {
        kept(as: V.self, name, keyPath, options, defaultValue, originalName) { model in
            guard let model = model as? M else { return .null }
            return try model[keyPath: keyPath].attributeValue()
        }
    }

    /// Declares an attribute that is kept as a type, which need not be the property's.
    ///
    /// - Parameters:
    ///   - isOpaque: see ``isOpaque``.
    ///   - copiedModel: see ``copiedModel``.
    ///   - extract: the attribute's value in a model.
    static func kept<V: AttributeConvertible>(
        as type: V.Type,
        _ name: String,
        _ keyPath: any AnyKeyPath & Sendable,
        _ options: Options,
        _ defaultValue: V?,
        _ originalName: String?,
        isOpaque: Bool = false,
        copiedModel: (any PersistentModel.Type)? = nil,
        _ extract: @escaping @Sendable (any PersistentModel) throws -> Value
    ) -> AttributeDescription {
        let value = defaultValue.map { value in try? value.attributeValue() }
        return AttributeDescription(
            name: name,
            kind: V.attributeKind,
            isOptional: V.isOptionalAttribute,
            isUnique: options.contains(.unique),
            preservesValueOnDeletion: options.contains(.preserveValueOnDeletion),
            defaultValue: value ?? nil,
            originalName: originalName,
            hasInvalidDefault: value == .some(nil),
            hasOneValue: V.hasOneValue,
            isOpaque: isOpaque,
            copiedModel: copiedModel,
            keyPath: keyPath,
            probe: sample(V.self, or: value ?? nil),
            extract: extract
        )
    }

    /// Samples of a type; its default, where there are none.
    private static func sample<V: AttributeConvertible>(_ type: V.Type, or value: Value?) -> @Sendable (Int) -> Value {
        { position in
            let sample = V.probe(position: position)
            return sample.isNull ? value ?? .null : sample
        }
    }

    /// Declares the identifier, which must be an entity's first attribute.
    public static func id<M: PersistentModel>(_ keyPath: any KeyPath<M, UUID> & Sendable) -> AttributeDescription {
        attribute("id", keyPath, [.unique, .preserveValueOnDeletion])
    }
}

extension AttributeDescription {
    /// Declares an attribute of any `Codable` type, kept as JSON as ``JSONAttribute`` keeps it, without the wrapper. The model
    /// reads `try row.next(JSONAttribute<Settings>.self).wrappedValue` and writes
    /// `try row.append(converting: JSONAttribute(wrappedValue: settings))`.
    ///
    /// - Parameters:
    ///   - defaultValue: what the records of an older schema version get that do not have the attribute.
    ///   - originalName: the attribute's name in the schema version before, if it had another.
    @_disfavoredOverload
    public static func json<M: PersistentModel, V: Codable & Sendable & Equatable>(
        _ name: String,
        _ keyPath: any KeyPath<M, V> & Sendable,
        _ options: Options = [],
        default defaultValue: V? = nil,
        originalName: String? = nil
    ) -> AttributeDescription {
        kept(
            as: JSONAttribute<V>.self,
            name,
            keyPath,
            options,
            defaultValue.map(JSONAttribute.init),
            originalName,
            isOpaque: true,
            copiedModel: model(in: V.self)
        ) { model in
            guard let model = model as? M else { return .null }
            return try JSONAttribute(wrappedValue: model[keyPath: keyPath]).attributeValue()
        }
    }

    /// Declares an attribute of any `Codable` type or nil, kept as JSON or null. The model reads
    /// `try row.next(JSONAttribute<Settings>?.self)?.wrappedValue` and writes
    /// `try row.append(converting: settings.map(JSONAttribute.init))`.
    public static func json<M: PersistentModel, V: Codable & Sendable & Equatable>(
        _ name: String,
        _ keyPath: any KeyPath<M, V?> & Sendable,
        _ options: Options = [],
        default defaultValue: V? = nil,
        originalName: String? = nil
    ) -> AttributeDescription {
        let value: JSONAttribute<V>?? = defaultValue.map { JSONAttribute(wrappedValue: $0) }
        return kept(
            as: JSONAttribute<V>?.self,
            name,
            keyPath,
            options,
            value,
            originalName,
            isOpaque: true,
            copiedModel: model(in: V.self)
        ) { model in
            guard let model = model as? M else { return .null }
            return try model[keyPath: keyPath].map(JSONAttribute.init)?.attributeValue() ?? .null
        }
    }

    /// Whether it is kept as JSON, also by a ``JSONAttribute`` that the model declares as its property.
    var isJSON: Bool { isOpaque || (wrappedType ?? valueType) is any StoredAsJSON.Type }

    /// Whether nil is a value of what it is when it is not nil.
    var isOptionalTwice: Bool { wrappedType is any OptionalType.Type }

    private var valueType: any Any.Type { type(of: keyPath as AnyKeyPath).valueType }

    /// The type that an optional property's type wraps.
    private var wrappedType: (any Any.Type)? { (valueType as? any OptionalType.Type)?.wrappedType }

    /// The model that a type is, or is a collection of.
    private static func model(in type: any Any.Type) -> (any PersistentModel.Type)? {
        if let collection = type as? any CollectedType.Type { return model(in: collection.elementType) }
        return type as? any PersistentModel.Type
    }
}

private protocol StoredAsJSON {}

extension JSONAttribute: StoredAsJSON {}

private protocol OptionalType {
    static var wrappedType: any Any.Type { get }
}

extension Optional: OptionalType {
    static var wrappedType: any Any.Type { Wrapped.self }
}

private protocol CollectedType {
    static var elementType: any Any.Type { get }
}

extension Array: CollectedType {
    static var elementType: any Any.Type { Element.self }
}

extension Set: CollectedType {
    static var elementType: any Any.Type { Element.self }
}

extension Dictionary: CollectedType {
    static var elementType: any Any.Type { Value.self }
}
