import HabitStore

/// An index over an entity's columns. Those of links attributes belong to the link tables.
struct SQLiteColumnIndex: Sendable {
    /// The index, unquoted.
    let name: String
    /// For people: `Entry(habitID, date)`.
    let title: String
    /// The attributes by which it is ordered; the identifier is among them.
    let keys: [String]
    /// Its columns: the keys, and in a clustering index all others behind them. SQLite answers what it finds by such an index
    /// from it alone (a covering index), and keeps it up itself.
    let columns: [String]
    private let entity: String

    /// Whether it is declared to hold all columns. Links are no columns, and are read from their tables as ever.
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

    /// What makes it.
    var definition: String {
        "CREATE INDEX \(SQLiteFormat.quoted(name)) ON \(SQLiteFormat.quoted(entity)) "
            + "(\(columns.map(SQLiteFormat.quoted).joined(separator: ", ")))"
    }

    /// What ``SQLiteFormat/indexesKey`` calls it.
    var listedName: String { isClustering ? "\(name)\(SQLiteFormat.clusteringMark)" : name }
}
