import Foundation

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
    var isJSON: Bool { isOpaque || (wrappedType ?? valueType) is any KeptAsJSON.Type }

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

private protocol KeptAsJSON {}

extension JSONAttribute: KeptAsJSON {}

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
