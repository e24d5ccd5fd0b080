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
        json(name, keyPath, options, defaultValue.map(JSONAttribute.init), originalName, JSONAttribute<V>.self) {
            model in
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
        return json(name, keyPath, options, value, originalName, JSONAttribute<V>?.self) { model in
            guard let model = model as? M else { return .null }
            return try model[keyPath: keyPath].map(JSONAttribute.init)?.attributeValue() ?? .null
        }
    }

    private static func json<V: AttributeConvertible>(
        _ name: String,
        _ keyPath: any AnyKeyPath & Sendable,
        _ options: Options,
        _ defaultValue: V?,
        _ originalName: String?,
        _ type: V.Type,
        _ extract: @escaping @Sendable (any PersistentModel) throws -> Value
    ) -> AttributeDescription {
        let value = defaultValue.map { value in try? value.attributeValue() }
        return AttributeDescription(
            name: name,
            kind: .data,
            isOptional: V.isOptionalAttribute,
            isUnique: options.contains(.unique),
            preservesValueOnDeletion: options.contains(.preserveValueOnDeletion),
            defaultValue: value ?? nil,
            originalName: originalName,
            hasInvalidDefault: value == .some(nil),
            isOpaque: true,
            hasOneValue: V.hasOneValue,
            keyPath: keyPath,
            probe: sample(V.self, or: value ?? nil),
            extract: extract
        )
    }
}
