import Foundation
@_spi(Engines) import HabitStore

/// The file format: a plain relational database that the stock `sqlite3` shell can read and check.
///
/// The article *On-disk formats* describes it; its names and numbers are defined here.
package enum SQLiteFormat {
    /// `HbSt`, in the database header.
    static let applicationID: Int64 = 0x4862_5374
    /// The format's version, in the database header.
    static let version: Int64 = 1

    static let metadataTable = "habitstore_metadata"
    static let transactionTable = "history_transaction"
    static let changeTable = "history_change"
    static let digestTable = "habitstore_digest"
    /// The bookkeeping key of the list of column indexes, one a line, and the suffix of an index that contains all columns.
    static let indexesKey = "indexes"
    static let clusteringMark = " (clustering)"
    /// Reads a bookkeeping value.
    package static let selectMetadata = "SELECT value FROM habitstore_metadata WHERE key = ?1"
    /// Sets a bookkeeping value.
    package static let replaceMetadata =
        "INSERT INTO habitstore_metadata (key, value) VALUES (?1, ?2) "
        + "ON CONFLICT (key) DO UPDATE SET value = excluded.value"

    /// A name quoted for SQL.
    package static func quoted(_ name: String) -> String {
        // Every opening quotes all names, and Foundation's search is slow.
        guard name.utf8.contains(UInt8(ascii: "\"")) else { return "\"\(name)\"" }
        return "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    /// The tables that every store has.
    static let commonTables = [metadataDefinition] + SQLiteHistory.Tables.own.definitions + [digestDefinition]

    /// The table of the bookkeeping.
    package static let metadataDefinition = """
        CREATE TABLE habitstore_metadata (
          key TEXT PRIMARY KEY,
          value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """

    /// The table of stored digests, which stores of the first versions lack.
    package static let digestDefinition = """
        CREATE TABLE IF NOT EXISTS habitstore_digest (
          entity TEXT NOT NULL,
          first BLOB NOT NULL,
          depth INTEGER NOT NULL,
          count INTEGER NOT NULL,
          sum BLOB NOT NULL,
          PRIMARY KEY (entity, first)
        ) STRICT, WITHOUT ROWID
        """

    /// Checks the header of a database before changing anything.
    ///
    /// - Returns: whether it is a store; false for an empty database.
    static func isStore(_ connection: SQLiteConnection) throws -> Bool {
        let location = HabitStoreError.Location(path: connection.path)
        let header = try connection.header()
        let (application, version) = (header.applicationID, header.userVersion)
        if application == 0, version == 0, try connection.int64("SELECT 1 FROM sqlite_schema LIMIT 1") == nil {
            return false
        }
        guard application == applicationID else {
            throw HabitStoreError(
                .notAStore,
                "this is an SQLite database of another program; choose another file",
                at: location
            )
        }
        guard header.isInUTF8 else {
            throw HabitStoreError.damage(
                "the database keeps its text in UTF-16, which no store does; restore a backup",
                at: location
            )
        }
        guard version <= self.version else {
            throw HabitStoreError(
                .newerVersion,
                "the store has format version \(version), and this program knows versions up to \(self.version); "
                    + "use a newer program",
                at: location
            )
        }
        guard version == self.version else {
            throw HabitStoreError.damage(
                "the store says that its format version is \(version), which never was; restore a backup",
                at: location
            )
        }
        return true
    }

    /// Creates the tables of a new store. Runs in a write transaction.
    static func create(_ tables: [SQLiteTable], _ connection: SQLiteConnection) throws {
        try connection.exec("PRAGMA application_id = \(applicationID)")
        try connection.exec("PRAGMA user_version = \(version)")
        for statement in commonTables + tables.flatMap(\.definitions) { try connection.exec(statement) }
        try connection.withStatement("INSERT INTO habitstore_metadata (key, value) VALUES (?1, ?2)") { statement in
            try statement.bind(indexesKey, at: 1)
            try statement.bind(SQLiteIndexUpkeep(tables).list, at: 2)
            try statement.run()
        }
    }

    /// Rejects a schema with names that SQLite cannot tell apart, before the file is created.
    static func validate(_ tables: [SQLiteTable], path: String) throws {
        var taken: Set<String> = [metadataTable, transactionTable, changeTable, digestTable]
        for table in tables {
            for name in table.objectNames {
                guard taken.insert(name.lowercased()).inserted, !name.lowercased().hasPrefix("sqlite_"),
                    !name.utf8.contains(0)
                else {
                    throw HabitStoreError(
                        .schemaMismatch,
                        "\(table.description.name) needs a table or index with a name that is taken; "
                            + "rename the entity or the attribute",
                        at: .init(path: path, entity: table.description.name)
                    )
                }
            }
            var columns: Set<String> = []
            for attribute in table.description.attributes {
                guard columns.insert(attribute.name.lowercased()).inserted, !attribute.name.utf8.contains(0) else {
                    throw HabitStoreError(
                        .schemaMismatch,
                        "two attributes of \(table.description.name) differ in letter case only, which columns cannot",
                        at: .init(path: path, entity: table.description.name, attribute: attribute.name)
                    )
                }
                guard attribute.kind != .links || !attribute.isOptional else {
                    throw HabitStoreError(
                        .schemaMismatch,
                        "links cannot be optional: no links and nil would be the same here; use an empty set",
                        at: .init(path: path, entity: table.description.name, attribute: attribute.name)
                    )
                }
            }
        }
    }
}

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

/// The table of one links attribute, with an owner and a target in each row.
struct SQLiteLinkTable: Sendable {
    /// The quoted name of the table.
    let name: String
    /// The unquoted names of the table and its index.
    let objectNames: [String]
    let selectTargets: String
    let selectOwners: String
    let insert: String
    let delete: String
    let deleteAll: String

    init(_ entity: String, _ attribute: String) {
        let plain = "\(entity)_\(attribute)"
        name = SQLiteFormat.quoted(plain)
        objectNames = [plain, plain + "_by_target"]
        selectTargets = "SELECT target FROM \(name) WHERE owner = ?1 ORDER BY target"
        selectOwners = "SELECT owner FROM \(name) WHERE target = ?1 ORDER BY owner LIMIT ?2"
        insert = "INSERT INTO \(name) (owner, target) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
        delete = "DELETE FROM \(name) WHERE owner = ?1 AND target = ?2"
        deleteAll = "DELETE FROM \(name) WHERE owner = ?1"
    }

    /// The statements that create the table and its index in a new store.
    var definitions: [String] { [definition, indexDefinition] }

    /// The `CREATE TABLE` statement.
    var definition: String {
        """
        CREATE TABLE \(name) (
          owner BLOB NOT NULL,
          target BLOB NOT NULL,
          PRIMARY KEY (owner, target)
        ) STRICT, WITHOUT ROWID
        """
    }

    /// The `CREATE INDEX` statement.
    var indexDefinition: String { "CREATE INDEX \(SQLiteFormat.quoted(objectNames[1])) ON \(name) (target, owner)" }
}

/// A list of texts as a JSON array, which SQLite's own JSON functions can read.
enum SQLiteTextList {
    /// The shortest form: no whitespace, and only the escapes that JSON requires.
    static func encode(_ texts: [String]) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "\""))
            for byte in text.utf8 {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
                case 0..<0x20:
                    let digits = Array("0123456789abcdef".utf8)
                    bytes += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                default: bytes.append(byte)
                }
            }
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: "]"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The texts of any JSON array of texts; nil for anything else.
    static func decode(_ json: String) -> [String]? {
        if let texts = decodePlain(json) { return texts }
        // Escapes and whitespace are rare enough for the general decoder.
        return try? JSONDecoder().decode([String].self, from: Data(json.utf8))
    }

    /// Decodes the form that ``encode(_:)`` writes without escapes; nil for any other.
    private static func decodePlain(_ json: String) -> [String]? {
        let quote = UInt8(ascii: "\"")
        var texts: [String] = []
        var rest = Substring(json).utf8
        guard rest.popFirst() == UInt8(ascii: "[") else { return nil }
        if rest.first == UInt8(ascii: "]") { return rest.count == 1 ? [] : nil }
        while true {
            guard rest.popFirst() == quote, let end = rest.firstIndex(of: quote) else { return nil }
            let text = rest[..<end]
            guard !text.contains(where: { $0 == UInt8(ascii: "\\") || $0 < 0x20 }) else { return nil }
            texts.append(String(Substring(text)))
            rest = rest[rest.index(after: end)...]
            switch rest.popFirst() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "]"): return rest.isEmpty ? texts : nil
            default: return nil
            }
        }
    }
}
