import HabitStore

/// What the engine makes of a schema, whatever the store; see `Schema.derived`.
struct LMDBSchemaParts: Sendable {
    /// The layouts of the indexes' keys, by entity.
    let layouts: [[LMDBIndexKeyLayout]]
    /// The databases apart from the bookkeeping's.
    let names: [String]

    /// - Throws: `.schemaMismatch` and `.unsupported` for a schema that cannot be kept.
    init(_ schema: Schema) throws {
        layouts = try LMDBCatalog.layouts(schema)
        names = try LMDBCatalog.databaseNames(schema)
    }

    var all: (layouts: [[LMDBIndexKeyLayout]], names: [String]) { (layouts, names) }
}
