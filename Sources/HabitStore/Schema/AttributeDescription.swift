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
    public static func attribute<M: PersistentModel, V: AttributeConvertible>(
        _ name: String,
        _ keyPath: any KeyPath<M, V> & Sendable,
        _ options: Options = []
    ) -> AttributeDescription {
        AttributeDescription(
            name: name,
            kind: V.attributeKind,
            isOptional: V.isOptionalAttribute,
            isUnique: options.contains(.unique),
            preservesValueOnDeletion: options.contains(.preserveValueOnDeletion),
            keyPath: keyPath,
            probe: { V.probe(position: $0) },
            extract: { model in
                guard let model = model as? M else { return .null }
                return try model[keyPath: keyPath].attributeValue()
            }
        )
    }

    /// Declares the identifier, which must be an entity's first attribute.
    public static func id<M: PersistentModel>(_ keyPath: any KeyPath<M, UUID> & Sendable) -> AttributeDescription {
        attribute("id", keyPath, [.unique, .preserveValueOnDeletion])
    }
}
