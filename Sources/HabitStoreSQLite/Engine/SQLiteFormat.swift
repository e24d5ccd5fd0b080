import Foundation
@_spi(Engines) import HabitStore

/// The file format: a plain relational database that the stock `sqlite3` shell can read and check.
///
/// The article *On-disk formats* describes it; its names and numbers are defined here.
enum SQLiteFormat {
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
    static let selectMetadata = "SELECT value FROM habitstore_metadata WHERE key = ?1"
    /// Sets a bookkeeping value.
    static let replaceMetadata =
        "INSERT INTO habitstore_metadata (key, value) VALUES (?1, ?2) "
        + "ON CONFLICT (key) DO UPDATE SET value = excluded.value"

    /// A name quoted for SQL.
    static func quoted(_ name: String) -> String {
        // Every opening quotes all names, and Foundation's search is slow.
        guard name.utf8.contains(UInt8(ascii: "\"")) else { return "\"\(name)\"" }
        return "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }

    /// The tables that every store has.
    static let commonTables = [
        """
        CREATE TABLE habitstore_metadata (
          key TEXT PRIMARY KEY,
          value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE history_transaction (
          token INTEGER PRIMARY KEY,
          timestamp REAL NOT NULL,
          author TEXT
        ) STRICT
        """,
        """
        CREATE TABLE history_change (
          token INTEGER NOT NULL,
          sequence INTEGER NOT NULL,
          entity TEXT NOT NULL,
          id BLOB NOT NULL,
          kind TEXT NOT NULL,
          attributes TEXT,
          tombstone TEXT,
          PRIMARY KEY (token, sequence)
        ) STRICT, WITHOUT ROWID
        """,
        digestDefinition,
    ]

    /// The table of stored digests, which stores of the first versions lack.
    static let digestDefinition = """
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
