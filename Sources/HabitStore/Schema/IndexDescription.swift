/// An ordered index over one or more attributes of an entity; the identifier is always its last key.
public struct IndexDescription: Sendable, Hashable {
    /// The attributes' names, first key first.
    public internal(set) var attributes: [String]
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

    /// The index with its attributes' names. A key path that leads to none of them keeps its own description, which no
    /// attribute has, so that the schema is refused.
    func named(by attributes: [AttributeDescription]) -> IndexDescription {
        guard !keyPaths.isEmpty else { return self }
        return IndexDescription(
            attributes: keyPaths.map { keyPath in
                attributes.first { $0.keyPath as AnyKeyPath == keyPath as AnyKeyPath }?.name ?? "\(keyPath)"
            }
        )
    }

    /// Whether both have the same attributes.
    public static func == (left: Self, right: Self) -> Bool { left.attributes == right.attributes }

    /// Hashes the attributes.
    public func hash(into hasher: inout Hasher) { hasher.combine(attributes) }
}
