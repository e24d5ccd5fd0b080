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
