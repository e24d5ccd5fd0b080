import HabitStore
@_spi(Engines) import OrderedKeys

/// What the engine makes of a schema, whatever the store; see `Schema.derived`.
struct LMDBSchemaParts: Sendable {
    /// The schema as ordered keys.
    let keys: KeyTables
    /// The databases apart from the bookkeeping's.
    let names: [String]
    /// All databases, the bookkeeping's first: in this order they are opened together.
    let order: [String]
    /// What belongs where in a file whose databases were opened in that order, as nearly all are.
    let tables: LMDBTables

    /// - Throws: `.schemaMismatch` and `.unsupported` for a schema that cannot be kept.
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
