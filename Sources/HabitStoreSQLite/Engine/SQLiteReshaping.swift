import HabitStore

@_spi(Engines) extension SQLiteEngine {
    /// Runs `body` in one write transaction, first on this schema's tables, then on those of another.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: SQLiteWriter, _ reshaped: (Set<String>) throws -> SQLiteWriter) throws -> R
    ) throws -> R {
        let newTables = try Self.tables(of: schema, path: database.path)
        return try write { writer in
            try body(writer) { rewritten in
                let connection = try writer.connection
                let kept = Set(newTables.map(\.description.name)).subtracting(rewritten)
                for table in tables where !kept.contains(table.description.name) {
                    for name in table.tableNames { try connection.exec("DROP TABLE \(SQLiteFormat.quoted(name))") }
                }
                for table in newTables where rewritten.contains(table.description.name) {
                    for statement in table.definitions { try connection.exec(statement) }
                }
                try writer.setMetadata(SQLiteFormat.indexesKey, SQLiteIndexUpkeep(newTables).list)
                return SQLiteWriter(connection, newTables, isKnownCanonical: false, hasDigests: false)
            }
        }
    }
}
