import Foundation

/// A schema as a store writes it down, under `schema` in its metadata: JSON with sorted keys,
/// `{"entities": […], "version": "3.0.0"}`, each entity as `EntityShape` has it.
public struct StoredSchema: Sendable, Hashable, Codable {
    /// The schema's version.
    public var version: Schema.Version
    /// The entities in their order.
    @_spi(Engines) public var entities: [EntityShape]

    /// Makes a description.
    @_spi(Engines) public init(version: Schema.Version, entities: [EntityShape]) {
        (self.version, self.entities) = (version, entities)
    }

    /// The description of a schema.
    public init(_ schema: Schema) { self = schema.stored }

    /// Reads what a store has written.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` when it cannot be read.
    init(parsing text: String, path: String?) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
        } catch {
            throw Self.unreadable(path, error)
        }
    }

    /// The version alone: also of a store whose entities have something that this program does not know.
    static func version(in text: String, path: String?) throws -> Schema.Version {
        struct Version: Decodable {
            let version: Schema.Version
        }
        do {
            return try JSONDecoder().decode(Version.self, from: Data(text.utf8)).version
        } catch {
            throw unreadable(path, error)
        }
    }

    private static func unreadable(_ path: String?, _ cause: any Error) -> HabitStoreError {
        HabitStoreError.damage(
            "the schema that the store has written down cannot be read; restore a backup",
            at: .init(path: path),
            underlying: cause
        )
    }

    /// The form that stores contain: the same bytes for the same schema.
    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        } catch {
            throw HabitStoreError(
                .schemaMismatch,
                "the schema has a default that a store cannot keep",
                underlying: error
            )
        }
    }
}

/// The form of one kind of record, without its Swift type: what a store saves of its schema, so that a program without this type
/// can still read, compare and migrate it.
///
/// ```json
/// {"name": "Tag",
///  "attributes": [{"name": "id", "kind": "uuid", "unique": true, "preserved": true},
///                 {"name": "name", "kind": "string", "unique": true}],
///  "relationships": [{"name": "habits", "kind": "manyToManyInverse", "destination": "Habit", "inverse": "tags",
///                     "deleteRule": "nullify"}],
///  "indexes": [{"attributes": ["name"]}]}
/// ```
/// Values that are false, nil or empty may be left out.
@_spi(Engines) public struct EntityShape: Sendable, Hashable, Codable {
    /// The entity's name.
    public var name: String
    /// The stored attributes in the order in which a record has them; the first is `id`, a unique UUID.
    public var attributes: [AttributeShape]
    /// The relationships that this side declares.
    public var relationships: [RelationshipShape]
    /// All indexes, also those that unique attributes and references need.
    public var indexes: [IndexShape]
    /// The combinations of attributes that no two records may have in common.
    public var uniqueness: [[String]]

    /// Makes a shape.
    public init(
        name: String,
        attributes: [AttributeShape],
        relationships: [RelationshipShape] = [],
        indexes: [IndexShape] = [],
        uniqueness: [[String]] = []
    ) {
        (self.name, self.attributes, self.relationships, self.indexes) = (name, attributes, relationships, indexes)
        self.uniqueness = uniqueness
    }

    /// The shape of a declared entity.
    public init(_ entity: EntityDescription) {
        name = entity.name
        attributes = entity.attributes.map { attribute in
            AttributeShape(
                name: attribute.name,
                kind: attribute.kind,
                isOptional: attribute.isOptional,
                isUnique: attribute.isUnique,
                preservesValueOnDeletion: attribute.preservesValueOnDeletion,
                defaultValue: attribute.defaultValue
            )
        }
        relationships = entity.relationships.map(RelationshipShape.init)
        indexes = entity.indexes.map { IndexShape($0.attributes, isClustering: $0.isClustering) }
        uniqueness = entity.uniqueness.map(\.attributes)
    }

    private enum CodingKeys: String, CodingKey {
        case name, attributes, relationships, indexes, uniqueness
    }

    /// Reads a shape.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        attributes = try container.decode([AttributeShape].self, forKey: .attributes)
        relationships = try container.decodeIfPresent([RelationshipShape].self, forKey: .relationships) ?? []
        indexes = try container.decodeIfPresent([IndexShape].self, forKey: .indexes) ?? []
        uniqueness = try container.decodeIfPresent([[String]].self, forKey: .uniqueness) ?? []
    }

    /// Writes the shape.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(attributes, forKey: .attributes)
        if !relationships.isEmpty { try container.encode(relationships, forKey: .relationships) }
        if !indexes.isEmpty { try container.encode(indexes, forKey: .indexes) }
        if !uniqueness.isEmpty { try container.encode(uniqueness, forKey: .uniqueness) }
    }
}

/// One stored attribute of an ``EntityShape``.
@_spi(Engines) public struct AttributeShape: Sendable, Hashable, Codable {
    /// The name.
    public var name: String
    /// How the value is kept.
    public var kind: AttributeKind
    /// Whether nil is allowed.
    public var isOptional: Bool
    /// Whether two records may not have the same value (nil aside).
    public var isUnique: Bool
    /// Whether the value is kept in the tombstone of a deleted record.
    public var preservesValueOnDeletion: Bool
    /// The value of records that were written before the attribute existed; nil for none.
    public var defaultValue: Value?

    /// Makes a shape.
    public init(
        name: String,
        kind: AttributeKind,
        isOptional: Bool = false,
        isUnique: Bool = false,
        preservesValueOnDeletion: Bool = false,
        defaultValue: Value? = nil
    ) {
        (self.name, self.kind, self.isOptional, self.isUnique) = (name, kind, isOptional, isUnique)
        (self.preservesValueOnDeletion, self.defaultValue) = (preservesValueOnDeletion, defaultValue)
    }

    /// The identifier, which is an entity's first attribute.
    public static let id = AttributeShape(name: "id", kind: .uuid, isUnique: true, preservesValueOnDeletion: true)

    private enum CodingKeys: String, CodingKey {
        case name, kind
        case isOptional = "optional"
        case isUnique = "unique"
        case preservesValueOnDeletion = "preserved"
        case defaultValue = "default"
    }

    /// Reads a shape.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        kind = try container.decode(AttributeKind.self, forKey: .kind)
        isOptional = try container.decodeIfPresent(Bool.self, forKey: .isOptional) ?? false
        isUnique = try container.decodeIfPresent(Bool.self, forKey: .isUnique) ?? false
        preservesValueOnDeletion = try container.decodeIfPresent(Bool.self, forKey: .preservesValueOnDeletion) ?? false
        // A nil default differs from no default.
        defaultValue =
            container.contains(.defaultValue) ? try container.decode(Value.self, forKey: .defaultValue) : nil
    }

    /// Writes the shape.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(kind, forKey: .kind)
        if isOptional { try container.encode(true, forKey: .isOptional) }
        if isUnique { try container.encode(true, forKey: .isUnique) }
        if preservesValueOnDeletion { try container.encode(true, forKey: .preservesValueOnDeletion) }
        if let defaultValue { try container.encode(defaultValue, forKey: .defaultValue) }
    }
}

/// One relationship of an ``EntityShape``.
@_spi(Engines) public struct RelationshipShape: Sendable, Hashable, Codable {
    /// How the records are tied together; see ``RelationshipDescription/Kind``.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// This side stores a reference.
        case toOne
        /// The other side stores a reference to this one.
        case toMany
        /// This side stores the links.
        case manyToManyOwner
        /// The other side stores the links.
        case manyToManyInverse
    }

    /// The name.
    public var name: String
    /// How the records are tied together.
    public var kind: Kind
    /// The attribute of this side that stores the reference or the links; nil where the other side does.
    public var attribute: String?
    /// The name of the entity on the other side.
    public var destination: String
    /// The name of the relationship on the other side, if it has one.
    public var inverse: String?
    /// What happens to the other side when a record of this side is deleted.
    public var deleteRule: DeleteRule

    /// Makes a shape.
    public init(
        name: String,
        kind: Kind,
        attribute: String? = nil,
        destination: String,
        inverse: String? = nil,
        deleteRule: DeleteRule = .nullify
    ) {
        (self.name, self.kind, self.attribute) = (name, kind, attribute)
        (self.destination, self.inverse, self.deleteRule) = (destination, inverse, deleteRule)
    }

    /// The shape of a declared relationship.
    public init(_ relationship: RelationshipDescription) {
        (kind, attribute) =
            switch relationship.kind {
            case .toOne(let attribute): (.toOne, attribute)
            case .toMany: (.toMany, nil)
            case .manyToManyOwner(let attribute): (.manyToManyOwner, attribute)
            case .manyToManyInverse: (.manyToManyInverse, nil)
            }
        name = relationship.name
        destination = relationship.destination
        inverse = relationship.inverse
        deleteRule = relationship.deleteRule
    }

    /// The declaration; a reference or links without their attribute lead to none, so that the schema is refused.
    var descriptionKind: RelationshipDescription.Kind {
        switch kind {
        case .toOne: return .toOne(attribute: attribute ?? "")
        case .toMany: return .toMany
        case .manyToManyOwner: return .manyToManyOwner(attribute: attribute ?? "")
        case .manyToManyInverse: return .manyToManyInverse
        }
    }
}

/// One index of an ``EntityShape``.
@_spi(Engines) public struct IndexShape: Sendable, Hashable, Codable {
    /// The attributes' names, first key first.
    public var attributes: [String]
    /// Whether the index holds a copy of each record; see ``IndexDescription/clustering()``.
    public var isClustering: Bool

    /// Makes a shape.
    public init(_ attributes: [String], isClustering: Bool = false) {
        (self.attributes, self.isClustering) = (attributes, isClustering)
    }

    private enum CodingKeys: String, CodingKey {
        case attributes
        case isClustering = "clustering"
    }

    /// Reads a shape.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        attributes = try container.decode([String].self, forKey: .attributes)
        isClustering = try container.decodeIfPresent(Bool.self, forKey: .isClustering) ?? false
    }

    /// Writes the shape.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(attributes, forKey: .attributes)
        if isClustering { try container.encode(true, forKey: .isClustering) }
    }
}

/// A placeholder for the Swift type of an entity that has none in this program. It cannot be fetched or stored.
struct UntypedRecord: PersistentModel {
    let id: UUID

    static let entity = EntityDescription(UntypedRecord.self, attributes: [.id(\UntypedRecord.id)])

    init(row: inout AttributeReader) throws { id = try row.nextUUID() }

    func write(to row: inout AttributeWriter) throws { row.append(id) }
}

extension EntityDescription {
    /// Whether it has no Swift type in this program.
    var isUntyped: Bool { modelType == UntypedRecord.self }

    /// The declaration of a shape, without a Swift type.
    @_spi(Engines) public init(_ shape: EntityShape) {
        self.init(
            UntypedRecord.self,
            name: shape.name,
            attributes: shape.attributes.map(AttributeDescription.init),
            relationships: shape.relationships.map(RelationshipDescription.init),
            indexes: shape.indexes.map { shape in
                let index = IndexDescription(attributes: shape.attributes)
                return shape.isClustering ? index.clustering() : index
            },
            uniqueness: shape.uniqueness.map(UniquenessDescription.init)
        )
    }
}

extension AttributeDescription {
    fileprivate init(_ shape: AttributeShape) {
        self.init(
            name: shape.name,
            kind: shape.kind,
            isOptional: shape.isOptional,
            isUnique: shape.isUnique,
            preservesValueOnDeletion: shape.preservesValueOnDeletion,
            defaultValue: shape.defaultValue,
            keyPath: \UntypedRecord.id,
            probe: { _ in .null },
            extract: { _ in
                throw HabitStoreError(.unknownEntity, "the record's entity has no Swift type in this program")
            }
        )
    }
}

extension RelationshipDescription {
    fileprivate init(_ shape: RelationshipShape) {
        self.init(
            name: shape.name,
            kind: shape.descriptionKind,
            destination: shape.destination,
            inverse: shape.inverse,
            deleteRule: shape.deleteRule,
            keyPath: \UntypedRecord.id
        )
    }
}
