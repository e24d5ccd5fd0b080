/// The shape of one kind of record.
public struct EntityDescription: Sendable {
    /// The entity's name: the table in SQLite, the word on the command line.
    public let name: String
    /// The name that the entity had in the schema version before; nil when it had the same or was not there.
    public let originalName: String?
    /// The Swift type.
    public let modelType: any PersistentModel.Type
    /// The stored attributes in the order in which the model reads and writes them; the first is the identifier.
    public let attributes: [AttributeDescription]
    /// The relationships that this side declares.
    public internal(set) var relationships: [RelationshipDescription]
    /// The indexes, declared ones and those that unique attributes and references need, each once.
    public let indexes: [IndexDescription]
    /// The combinations of attributes that no two records may have in common.
    public let uniqueness: [UniquenessDescription]
    /// Where each attribute lies in an encoded record.
    public internal(set) var layout: RecordLayout

    /// Declares an entity. Unique attributes and combinations, references and links each get an index unless a declared index begins with them.
    public init<M: PersistentModel>(
        _ type: M.Type,
        name: String? = nil,
        originalName: String? = nil,
        attributes: [AttributeDescription],
        relationships: [RelationshipDescription] = [],
        indexes: [IndexDescription] = [],
        uniqueness: [UniquenessDescription] = []
    ) {
        self.name = name ?? String(describing: type)
        self.originalName = originalName
        modelType = type
        self.attributes = attributes
        let relationships = relationships.map { $0.named(by: attributes) }
        self.relationships = relationships
        layout = RecordLayout(kinds: attributes.map(\.kind), limits: RecordLimits(self.name, attributes))
        var indexes = indexes.map { $0.named(by: attributes) }.merged()
        var needed = attributes.dropFirst().filter { $0.isUnique || $0.kind == .links }.map(\.name)
        for relationship in relationships {
            if case .toOne(let attribute) = relationship.kind { needed.append(attribute) }
        }
        let combinations = uniqueness.map { $0.named(by: attributes) }
        self.uniqueness = combinations
        for combination in combinations
        where !indexes.contains(where: { $0.attributes.starts(with: combination.attributes) }) {
            indexes.append(IndexDescription(attributes: combination.attributes))
        }
        for name in needed where !indexes.contains(where: { $0.attributes.first == name }) {
            indexes.append(IndexDescription(attributes: [name]))
        }
        self.indexes = indexes
    }

    /// The position of an attribute, or nil.
    @_spi(Engines) public func position(of attribute: String) -> Int? { attributes.firstIndex { $0.name == attribute } }

    /// The name of the property at a key path of the model: `Entry.habit`. The description of a key path shows an address instead.
    func title(of keyPath: AnyKeyPath) -> String {
        let name =
            relationships.first { $0.keyPath as AnyKeyPath == keyPath }?.name
            ?? attributes.first { $0.keyPath as AnyKeyPath == keyPath }?.name
        return name.map { "\(self.name).\($0)" } ?? "\(keyPath)"
    }

    /// The relationship of a name, or nil.
    @_spi(Engines) public func relationship(_ name: String) -> RelationshipDescription? {
        relationships.first { $0.name == name }
    }
}
