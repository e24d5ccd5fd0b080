import HabitStore

/// Whether a store has the tables and columns that it says it has.
///
/// Asked only after SQLite did not find one: looking at every opening would cost more than the opening.
enum SQLiteShape {
    /// The error for a statement that failed: the file's, where a table or a column is missing, and otherwise the
    /// error itself.
    static func explain(_ error: HabitStoreError, _ connection: SQLiteConnection, _ tables: [SQLiteTable]) throws
        -> HabitStoreError
    {
        // SQLITE_ERROR, "no such table" or "no such column" among others.
        guard let result = error.underlying as? SQLiteResult, result.code == 1 else { return error }
        let bookkeeping = [
            (SQLiteFormat.metadataTable, ["key", "value"]),
            (SQLiteFormat.transactionTable, ["token", "timestamp", "author"]),
            (
                SQLiteFormat.changeTable,
                ["token", "sequence", "entity", "id", "kind", "attributes", "tombstone"]
            ),
        ]
        for (table, columns) in bookkeeping {
            if try lacks(connection, table, columns) { return missing(table, nil, connection, error) }
        }
        for table in tables {
            let attributes = table.description.attributes
            let columns = table.columnPositions.map { attributes[$0].name }
            if try lacks(connection, table.description.name, columns) {
                return missing(table.description.name, table.description.name, connection, error)
            }
            for link in table.links {
                guard let name = link?.objectNames.first, try lacks(connection, name, ["owner", "target"]) else {
                    continue
                }
                return missing(name, table.description.name, connection, error)
            }
        }
        return error
    }

    private static func lacks(_ connection: SQLiteConnection, _ table: String, _ columns: [String]) throws -> Bool {
        let present = Set(try connection.texts("PRAGMA table_info(\(SQLiteFormat.quoted(table)))", column: 1))
        return !present.isSuperset(of: columns)
    }

    private static func missing(
        _ table: String,
        _ entity: String?,
        _ connection: SQLiteConnection,
        _ cause: HabitStoreError
    ) -> HabitStoreError {
        HabitStoreError.damage(
            "the table \(table), or a column of it, is missing from the store; restore a backup",
            at: .init(path: connection.path, entity: entity),
            underlying: cause.underlying
        )
    }
}

extension SQLiteConnection {
    /// One column of every row as text.
    fileprivate func texts(_ sql: String, column: Int32) throws -> [String] {
        let statement = try prepare(sql)
        var texts: [String] = []
        while try statement.step() { texts.append(try statement.text(at: column)) }
        return texts
    }
}
