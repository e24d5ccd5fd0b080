import HabitStore
@_spi(Engines) import OrderedKeys

/// The databases of a schema, the same for all files whose databases were opened in the same order.
struct LMDBTables: Sendable {
    let keys: KeyTables
    let metadata: LMDBDatabase
    let history: LMDBDatabase?
    let digests: LMDBDatabase?
    /// The databases of the entities.
    let records: [LMDBDatabase?]
    /// The databases of the indexes, by their numbers.
    let indexes: [LMDBDatabase?]
    /// The key prefixes of the entities' digests.
    let digestPrefixes: [[UInt8]]

    /// - Parameters:
    ///   - keys: the schema in the form of ordered keys.
    ///   - databases: the databases by their names, without those that the store lacks.
    init(_ keys: KeyTables, metadata: LMDBDatabase, databases: [String: LMDBDatabase]) {
        self.keys = keys
        self.metadata = metadata
        history = databases[LMDBFormat.history]
        digests = databases[LMDBFormat.digests]
        records = keys.tables.map { databases[$0.name] }
        indexes = keys.indexes.map { databases[$0.name] }
        digestPrefixes = keys.tables.map { LMDBFormat.digestPrefix($0.name) }
    }
}
