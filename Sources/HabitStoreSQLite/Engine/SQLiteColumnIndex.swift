import HabitStore

/// An index over an entity's columns. The indexes of links attributes belong to the link tables.
struct SQLiteColumnIndex: Sendable {
    /// The unquoted name of the index.
    let name: String
    /// A title for messages: `Entry(habitID, date)`.
    let title: String
    /// The attributes that order the index, always including the identifier.
    let keys: [String]
    /// The columns of the index: its keys, and in a clustering index all others after them. A clustering index is a covering index:
    /// SQLite answers from it alone, and maintains it itself.
    let columns: [String]
    private let entity: String

    /// Whether the index is declared to contain all columns. Links are not columns; they are always read from their tables.
    let isClustering: Bool

    private init(_ entity: EntityDescription, _ index: IndexDescription) {
        self.entity = entity.name
        name = "\(entity.name)_by_\(index.attributes.joined(separator: "_"))"
        title = "\(entity.name)(\(index.attributes.joined(separator: ", ")))"
        let keys = index.attributes + (index.attributes.contains("id") ? [] : ["id"])
        let others = entity.attributes.filter { $0.kind != .links && !keys.contains($0.name) }.map(\.name)
        self.keys = keys
        columns = index.isClustering ? keys + others : keys
        isClustering = index.isClustering
    }

    static func indexes(of entity: EntityDescription) -> [SQLiteColumnIndex] {
        let links = Set(entity.attributes.filter { $0.kind == .links }.map(\.name))
        return entity.indexes.filter { links.isDisjoint(with: $0.attributes) }.map { SQLiteColumnIndex(entity, $0) }
    }

    /// The `CREATE INDEX` statement.
    var definition: String {
        "CREATE INDEX \(SQLiteFormat.quoted(name)) ON \(SQLiteFormat.quoted(entity)) "
            + "(\(columns.map(SQLiteFormat.quoted).joined(separator: ", ")))"
    }

    /// The name in ``SQLiteFormat/indexesKey``.
    var listedName: String { isClustering ? "\(name)\(SQLiteFormat.clusteringMark)" : name }
}
