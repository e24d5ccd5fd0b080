import HabitStore

/// An entity in SQLite: its quoted names, and the SQL that is the same for every use.
///
/// Links attributes have their own tables instead of columns. In rows they still take a place, so that an attribute's position is
/// its column's index.
final class SQLiteTable: Sendable {
    /// The position of the entity in the schema.
    let entity: Int
    let description: EntityDescription
    /// The quoted name of the table.
    let name: String
    /// The column of each attribute.
    let columns: [String]
    /// The link table of each links attribute; nil for other attributes.
    let links: [SQLiteLinkTable?]
    /// The kind of each attribute.
    let kinds: [AttributeKind]
    /// The positions of the links attributes.
    let linkPositions: [Int]
    /// The positions of the attributes with a column.
    let columnPositions: [Int]
    /// The unquoted names of the tables and indexes.
    let objectNames: [String]
    /// The unquoted names of the tables alone.
    let tableNames: [String]
    /// The title of each index, by its name: `Entry(habitID, date)`.
    let indexes: [String: String]
    /// The column indexes that the file must have.
    let columnIndexes: [SQLiteColumnIndex]

    /// The indexes that can answer a condition: the primary key and those over columns.
    let indexKeys: [IndexKeys]

    /// An index in the form used to match conditions.
    struct IndexKeys: Sendable {
        /// The quoted name; nil for the primary key.
        var name: String?
        /// The positions of its attributes.
        var positions: [Int]
        /// Whether it is declared to contain all columns.
        var isClustering = false
    }

    /// `SELECT` and `FROM` of rows; the table's alias is `t0`.
    let selection: String
    /// Selects all rows in the order of their identifiers.
    let selectAll: String
    /// Selects the row with an identifier.
    let selectOne: String
    let insert: String
    let delete: String
    /// For each attribute, selects the identifiers of the records with a given value.
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
        // Two different indexes with the same name are a conflict, which the check of all names finds.
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

    /// `SELECT` and `FROM` of rows with only some attributes; the others are NULL.
    func selection(of positions: Set<Int>) -> String {
        let places = columns.indices.map { position in
            links[position] == nil && positions.contains(position) ? "t0.\(columns[position])" : "NULL"
        }
        return "SELECT \(places.joined(separator: ", ")) FROM \(name) AS t0"
    }

    /// `UPDATE` of the columns at these positions: the identifier is parameter 1, followed by the values.
    func update(_ positions: [Int]) -> String {
        let assignments = positions.enumerated().map { "\(columns[$1]) = ?\($0 + 2)" }
        return "UPDATE \(name) SET \(assignments.joined(separator: ", ")) WHERE \"id\" = ?1"
    }

    /// The statements that create the tables and indexes of a new store.
    var definitions: [String] {
        [definition] + columnIndexes.map(\.definition) + links.compactMap(\.self).flatMap(\.definitions)
    }

    /// The `CREATE TABLE` statement of the records.
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
