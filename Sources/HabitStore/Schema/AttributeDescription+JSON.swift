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
            isOpaque: true
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
        return kept(as: JSONAttribute<V>?.self, name, keyPath, options, value, originalName, isOpaque: true) { model in
            guard let model = model as? M else { return .null }
            return try model[keyPath: keyPath].map(JSONAttribute.init)?.attributeValue() ?? .null
        }
    }
}
