import HabitStore
@_spi(Engines) import OrderedKeys

@_spi(Engines) extension LMDBEngine {
    /// Runs `body` in one write transaction, first on this schema's databases, then on those of another.
    ///
    /// The databases of the other schema are created beforehand, because LMDB makes their handles available only after a commit.
    /// Empty ones that remain after a failure are not part of the store.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: LMDBWriter, _ reshaped: (Set<String>) throws -> LMDBWriter) throws -> R
    ) throws -> R {
        try schema.validate()
        let parts = try schema.derived(LMDBSchemaParts.self) { try LMDBSchemaParts(schema) }
        let databases = try environment.openDatabases(names: parts.names, create: true)
        let tables = LMDBTables(
            parts.keys,
            metadata: catalog.metadata,
            databases: Dictionary(uniqueKeysWithValues: databases.map { ($0.name, $0) })
        )
        let newCatalog = LMDBCatalog(schema: schema, path: catalog.path, tables: tables)
        return try write { writer in
            try body(writer) { rewritten in
                let transaction = writer.transaction
                let kept = Set(newCatalog.tables.map(\.name)).subtracting(rewritten)
                // Databases under the other schema's new names must be empty too: a file can contain anything.
                for catalog in [catalog, newCatalog] {
                    for table in catalog.tables where !kept.contains(table.name) {
                        try transaction.removeAll(try catalog.records(table))
                        for index in table.indexes { try transaction.removeAll(try catalog.database(index)) }
                    }
                }
                try transaction.put(catalog.metadata, Array(KeyFormat.indexesKey.utf8), newCatalog.keys.indexList)
                return try LMDBWriter(transaction, newCatalog)
            }
        }
    }
}
