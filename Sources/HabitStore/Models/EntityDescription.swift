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

extension [EntityDescription] {
    /// The entities with the names of what their relationships declare by key paths: where they lead, and their inverses.
    ///
    /// What cannot be found keeps a name that nothing in a schema has, so that the schema is refused.
    func resolvingKeyPaths() -> [EntityDescription] {
        guard contains(where: { $0.relationships.contains { $0.typed != nil } }) else { return self }
        var entities = self
        for (entity, place) in typedRelationships() {
            let name = destination(of: entities[entity].relationships[place])
            entities[entity].relationships[place].destination = name
        }
        for (entity, place) in typedRelationships() {
            let relationship = entities[entity].relationships[place]
            guard let inverse = relationship.typed?.inverse else { continue }
            let there = entities.first { $0.name == relationship.destination }?.relationships
            entities[entity].relationships[place].inverse =
                there?.first { $0.keyPath as AnyKeyPath == inverse as AnyKeyPath }?.name ?? "\(inverse)"
        }
        for (entity, place) in typedRelationships() where entities[entity].relationships[place].inverse == nil {
            let inverse = entities.inverse(of: entities[entity].relationships[place], in: entities[entity].name)
            entities[entity].relationships[place].inverse = inverse
        }
        return entities
    }

    /// The positions of what is declared by key paths.
    private func typedRelationships() -> [(entity: Int, place: Int)] {
        indices.flatMap { entity in
            self[entity].relationships.indices
                .filter { self[entity].relationships[$0].typed != nil }
                .map { (entity, $0) }
        }
    }

    /// By its type: the entity may have another name, and a type of the same name may belong to another version.
    private func destination(of relationship: RelationshipDescription) -> String {
        guard let type = relationship.typed?.destination else { return relationship.destination }
        return first { $0.modelType == type }?.name ?? String(reflecting: type)
    }

    /// The relationship on the other side that names this one; nil where none does.
    private func inverse(of relationship: RelationshipDescription, in entity: String) -> String? {
        first { $0.name == relationship.destination }?.relationships
            .first { $0.destination == entity && $0.inverse == relationship.name }?.name
    }
}

/// An ordered index over one or more attributes of an entity; the identifier is always its last key.
public struct IndexDescription: Sendable, Hashable {
    /// The attributes' names, first key first.
    public internal(set) var attributes: [String]
    /// Whether the index holds a copy of each record; see ``clustering()``.
    public internal(set) var isClustering = false
    /// The attributes' key paths, until the entity gives them their names.
    private var keyPaths: [any AnyKeyPath & Sendable] = []

    /// Declares an index; the order of the names is the order of the keys.
    public init(_ attributes: String...) { self.attributes = attributes }

    init(attributes: [String]) { self.attributes = attributes }

    /// Declares an index by key paths, as `#Index` does: `indexes: [.index(\Entry.habitID, \Entry.date)]`.
    public static func index<Model: PersistentModel>(
        _ keyPaths: any PartialKeyPath<Model> & Sendable...
    ) -> IndexDescription {
        var index = IndexDescription(attributes: [])
        index.keyPaths = keyPaths
        return index
    }

    /// The same index with a copy of each record next to its key: `indexes: [.index(\Entry.habitID, \Entry.date).clustering()]`.
    ///
    /// Records are read from the index, in the order in which they are stored, rather than looked up one by one by their
    /// identifiers. Declare it for the order in which an app reads most: ranges become several times faster, on both engines. Reads
    /// by identifier cost the same; writes maintain the copy, and the file grows by about the size of the records.
    ///
    /// An entity has at most one such index, and it cannot be over links. LMDB does not copy records longer than 1,024 bytes, which
    /// are looked up. Stores from before or after such a declaration are converted when they are next opened for writing; until
    /// then they are read unchanged.
    public func clustering() -> IndexDescription {
        var index = self
        index.isClustering = true
        return index
    }

    /// The index with its attributes' names. A key path that leads to none of them keeps its own description, which no
    /// attribute has, so that the schema is refused.
    func named(by attributes: [AttributeDescription]) -> IndexDescription {
        guard !keyPaths.isEmpty else { return self }
        var index = IndexDescription(
            attributes: keyPaths.map { keyPath in
                attributes.first { $0.keyPath as AnyKeyPath == keyPath as AnyKeyPath }?.name ?? "\(keyPath)"
            }
        )
        index.isClustering = isClustering
        return index
    }

    /// Whether both have the same attributes and hold the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.attributes == right.attributes && left.isClustering == right.isClustering
    }

    /// Hashes the attributes, and whether there are copies.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(attributes)
        hasher.combine(isClustering)
    }
}

extension [IndexDescription] {
    /// Each index once; what is declared twice holds copies if one of its declarations says so.
    func merged() -> [IndexDescription] {
        var merged: [IndexDescription] = []
        for index in self {
            guard let place = merged.firstIndex(where: { $0.attributes == index.attributes }) else {
                merged.append(index)
                continue
            }
            if index.isClustering { merged[place].isClustering = true }
        }
        return merged
    }
}

/// A combination of attributes that no two records of an entity may share.
///
/// A record with nil in one of the attributes has no combination, and conflicts with none.
public struct UniquenessDescription: Sendable, Hashable {
    /// The attributes' names.
    public internal(set) var attributes: [String]
    /// The attributes' key paths, until the entity gives them their names.
    private var keyPaths: [any AnyKeyPath & Sendable] = []

    /// Declares a combination by names.
    public init(_ attributes: [String]) { self.attributes = attributes }

    /// Declares a combination by key paths, as `#Unique` does:
    /// `uniqueness: [.unique(\Trip.name, \Trip.startDate, \Trip.endDate)]`.
    ///
    /// A write that takes another record's combination is refused with ``HabitStoreError/Code/uniqueViolation``, as for a unique attribute;
    /// SwiftData would change the other record instead. The entity gets an index over the attributes, in this order, unless a declared one begins
    /// with them.
    public static func unique<Model: PersistentModel>(
        _ keyPaths: any PartialKeyPath<Model> & Sendable...
    ) -> UniquenessDescription {
        var combination = UniquenessDescription([])
        combination.keyPaths = keyPaths
        return combination
    }

    /// The combination with its attributes' names. A key path that leads to none of them keeps its own description, which no
    /// attribute has, so that the schema is refused.
    func named(by attributes: [AttributeDescription]) -> UniquenessDescription {
        guard !keyPaths.isEmpty else { return self }
        return UniquenessDescription(
            keyPaths.map { keyPath in
                attributes.first { $0.keyPath as AnyKeyPath == keyPath as AnyKeyPath }?.name ?? "\(keyPath)"
            }
        )
    }

    /// Whether both are of the same attributes in the same order.
    public static func == (left: Self, right: Self) -> Bool { left.attributes == right.attributes }

    /// Hashes the attributes.
    public func hash(into hasher: inout Hasher) { hasher.combine(attributes) }
}
