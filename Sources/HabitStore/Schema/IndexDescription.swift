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
