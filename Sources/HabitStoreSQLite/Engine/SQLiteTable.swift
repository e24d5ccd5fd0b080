import HabitStore

/// One entity as SQLite keeps it: its names, quoted, and the SQL that is the same for every use.
///
/// Links attributes are tables of their own and no columns; in rows they hold a place, so that an attribute's position
/// is its column's index.
final class SQLiteTable: Sendable {
    /// The position of the entity in the schema.
    let entity: Int
    let description: EntityDescription
    /// The table.
    let name: String
    /// The column of each attribute.
    let columns: [String]
    /// The link table of each attribute of that kind.
    let links: [SQLiteLinkTable?]
    /// The kind of each attribute.
    let kinds: [AttributeKind]
    /// The positions of the links attributes.
    let linkPositions: [Int]
    /// The positions of the attributes that are columns.
    let columnPositions: [Int]
    /// The tables and indexes, unquoted.
    let objectNames: [String]
    /// The tables alone, unquoted.
    let tableNames: [String]
    /// For each index, by its name, what people are told of it: `Entry(habitID, date)`.
    let indexes: [String: String]
    /// The indexes over columns, as the file has to have them.
    let columnIndexes: [SQLiteColumnIndex]

    /// The indexes that can answer a condition: the primary key and those over columns.
    let indexKeys: [IndexKeys]

    /// An index as conditions are matched with it.
    struct IndexKeys: Sendable {
        /// The name, quoted; nil for the primary key.
        var name: String?
        /// The positions of its attributes.
        var positions: [Int]
        /// Whether it is declared to hold all columns.
        var isClustering = false
    }

    /// `SELECT` and `FROM` of rows, the table being called `t0`.
    let selection: String
    /// All rows in the order of their identifiers.
    let selectAll: String
    /// The row of an identifier.
    let selectOne: String
    let insert: String
    let delete: String
    /// For each attribute: the identifiers of the records that have a value there.
    let selectIdentifiers: [String]

    init(entity: Int, _ description: EntityDescription) {
        self.entity = entity
        self.description = description
        let attributes = description.attributes
        let name = SQLiteFormat.quoted(description.name)
        let columns = attributes.map { SQLiteFormat.quoted($0.name) }
        let links = attributes.map { $0.kind == .links ? SQLiteLinkTable(description.name, $0.name) : nil }
        let columnPositions = attributes.indices.filter { links[$0] == nil }
        let columnIndexes = SQLiteColumnIndex.indexes(of: description)
        self.name = name
        self.columns = columns
        self.links = links
        self.columnPositions = columnPositions
        self.columnIndexes = columnIndexes
        // A different index of the same name is a contradiction, which is found by its name among all.
        indexes = Dictionary(columnIndexes.map { ($0.name, $0.title) }, uniquingKeysWith: { first, _ in first })
        indexKeys =
            [IndexKeys(name: nil, positions: [0])]
            + columnIndexes.map { index in
                let positions = index.keys.compactMap { name in attributes.firstIndex { $0.name == name } }
                let name = SQLiteFormat.quoted(index.name)
                return IndexKeys(name: name, positions: positions, isClustering: index.isClustering)
            }
        kinds = attributes.map(\.kind)
        linkPositions = attributes.indices.filter { links[$0] != nil }
        tableNames = [description.name] + links.compactMap(\.self).compactMap(\.objectNames.first)
        objectNames = [description.name] + columnIndexes.map(\.name) + links.compactMap(\.self).flatMap(\.objectNames)
        let places = attributes.indices.map { links[$0] == nil ? "t0.\(columns[$0])" : "NULL" }
        selection = "SELECT \(places.joined(separator: ", ")) FROM \(name) AS t0"
        selectAll = selection + " ORDER BY t0.\"id\""
        selectOne = selection + " WHERE t0.\"id\" = ?1"
        insert =
            "INSERT INTO \(name) (\(columnPositions.map { columns[$0] }.joined(separator: ", "))) VALUES "
            + "(\(columnPositions.indices.map { "?\($0 + 1)" }.joined(separator: ", "))) "
            + "ON CONFLICT (\"id\") DO NOTHING"
        delete = "DELETE FROM \(name) WHERE \"id\" = ?1"
        selectIdentifiers = attributes.indices.map { position in
            links[position]?.selectOwners
                ?? "SELECT \"id\" FROM \(name) WHERE \(columns[position]) IS ?1 ORDER BY \"id\" LIMIT ?2"
        }
    }

    /// `SELECT` and `FROM` of rows of which only some attributes are read; NULL stands for the others.
    func selection(of positions: Set<Int>) -> String {
        let places = columns.indices.map { position in
            links[position] == nil && positions.contains(position) ? "t0.\(columns[position])" : "NULL"
        }
        return "SELECT \(places.joined(separator: ", ")) FROM \(name) AS t0"
    }

    /// `UPDATE` of the columns at these positions: the identifier is parameter 1, the values follow.
    func update(_ positions: [Int]) -> String {
        let assignments = positions.enumerated().map { "\(columns[$1]) = ?\($0 + 2)" }
        return "UPDATE \(name) SET \(assignments.joined(separator: ", ")) WHERE \"id\" = ?1"
    }

    /// What makes the tables and indexes; only a new store needs it.
    var definitions: [String] {
        [definition] + columnIndexes.map(\.definition) + links.compactMap(\.self).flatMap(\.definitions)
    }

    /// What makes the table of the records.
    var definition: String {
        let parts = columnPositions.map { position in
            let attribute = description.attributes[position]
            let rule = position == 0 ? " PRIMARY KEY NOT NULL" : (attribute.isOptional ? "" : " NOT NULL")
            return "  \(columns[position]) \(attribute.kind.columnType)\(rule)"
        }
        return "CREATE TABLE \(name) (\n\(parts.joined(separator: ",\n"))\n) STRICT, WITHOUT ROWID"
    }
}

extension AttributeKind {
    /// The column's type in a STRICT table.
    var columnType: String {
        switch self {
        case .bool, .int: return "INTEGER"
        case .double, .date: return "REAL"
        case .string, .strings: return "TEXT"
        case .uuid, .data, .links: return "BLOB"
        }
    }
}
