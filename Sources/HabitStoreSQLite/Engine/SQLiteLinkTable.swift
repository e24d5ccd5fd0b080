import HabitStore

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
