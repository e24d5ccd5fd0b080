import HabitStore
@_spi(Engines) import OrderedKeys

/// Derived from a schema once, for all of its stores; see `Schema.derived`.
struct LMDBSchemaParts: Sendable {
    /// The schema in the form of ordered keys.
    let keys: KeyTables
    /// The databases except the bookkeeping's.
    let names: [String]
    /// All databases in the order in which they are opened together, the bookkeeping's first.
    let order: [String]
    /// The tables of a file whose databases were opened in that order, which is nearly always the case.
    let tables: LMDBTables

    /// - Throws: `.schemaMismatch` and `.unsupported` for a schema that cannot be stored.
    init(_ schema: Schema) throws {
        keys = try KeyTables(schema)
        names = try LMDBCatalog.databaseNames(schema)
        order = [LMDBFormat.metadata] + names
        let databases = order.enumerated().map { LMDBDatabase(index: $0, name: $1) }
        tables = LMDBTables(
            keys,
            metadata: databases[0],
            databases: Dictionary(uniqueKeysWithValues: databases.map { ($0.name, $0) })
        )
    }
}
