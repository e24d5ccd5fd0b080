import HabitStore
@_spi(Engines) import OrderedKeys

/// What belongs where in the files of a schema whose databases were opened in the same order: nothing in it is of one file.
struct LMDBTables: Sendable {
    let keys: KeyTables
    let metadata: LMDBDatabase
    let history: LMDBDatabase?
    let digests: LMDBDatabase?
    /// The databases of the entities.
    let records: [LMDBDatabase?]
    /// The databases of the indexes, by their numbers.
    let indexes: [LMDBDatabase?]
    /// What the keys of the entities' digests begin with.
    let digestPrefixes: [[UInt8]]

    /// - Parameters:
    ///   - keys: the schema as ordered keys.
    ///   - databases: the databases by their names; those of a store that lacks some are missing.
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
