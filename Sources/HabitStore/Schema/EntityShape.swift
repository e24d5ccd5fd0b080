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
