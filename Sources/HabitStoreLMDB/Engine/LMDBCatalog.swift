import HabitStore
@_spi(Engines) import OrderedKeys
import Synchronization

/// A store's databases: what belongs where.
final class LMDBCatalog: Sendable {
    let schema: Schema
    let path: String
    /// The schema as ordered keys.
    let keys: KeyTables
    let metadata: LMDBDatabase
    let history: LMDBDatabase?
    /// Nil only in a store opened read-only whose versions so far kept no digests.
    let digests: LMDBDatabase?
    /// The databases of the entities; nil only in a store opened read-only that has no such entity.
    private let recordDatabases: [LMDBDatabase?]
    /// The databases of the indexes, by their numbers; nil only in a store opened read-only that has no such index.
    private let indexDatabases: [LMDBDatabase?]
    /// What the keys of the entities' digests begin with.
    let digestPrefixes: [[UInt8]]
    /// The last moment at which all indexes were found to be complete, see ``LMDBSnapshot/moment``.
    let completeMoment = Atomic<UInt64>(.max)
    let plans = KeyPlanCache()

    /// A file whose databases are where the tables have them.
    init(schema: Schema, path: String, tables: LMDBTables) {
        self.schema = schema
        self.path = path
        keys = tables.keys
        metadata = tables.metadata
        history = tables.history
        digests = tables.digests
        recordDatabases = tables.records
        indexDatabases = tables.indexes
        digestPrefixes = tables.digestPrefixes
    }

    /// The entities.
    var tables: [KeyTable] { keys.tables }

    /// The databases that a schema needs, apart from the bookkeeping's.
    ///
    /// - Throws: `.schemaMismatch` when two would have the same name.
    static func databaseNames(_ schema: Schema) throws -> [String] {
        var names = [LMDBFormat.history, LMDBFormat.digests]
        for entity in schema.entities {
            names.append(entity.name)
            names += entity.indexes.map { KeyFormat.indexName(entity.name, $0) }
        }
        guard Set(names + [LMDBFormat.metadata]).count == names.count + 1 else {
            throw HabitStoreError(
                .schemaMismatch,
                "an entity has the name of another database of the store; \(LMDBFormat.metadata), \(LMDBFormat.history) and "
                    + "\(LMDBFormat.digests) are taken, and so is each index's name"
            )
        }
        return names
    }

    /// An entity's database of records.
    @inline(__always)
    func records(_ table: KeyTable) throws -> LMDBDatabase {
        guard let records = recordDatabases[table.number] else {
            throw HabitStoreError(
                .schemaMismatch,
                "the store has no entity \(table.name)",
                at: .init(path: path, entity: table.name)
            )
        }
        return records
    }

    /// Whether there is a database of an entity's records.
    func hasRecords(_ table: KeyTable) -> Bool { recordDatabases[table.number] != nil }

    /// Whether there is a database of an index.
    func hasDatabase(_ index: KeyIndex) -> Bool { indexDatabases[index.number] != nil }

    /// The database of an index that a plan or a writer uses.
    @inline(__always)
    func database(_ index: KeyIndex) throws -> LMDBDatabase {
        guard let database = indexDatabases[index.number] else {
            throw LMDBError.error(.schemaMismatch, "the store has no index \(index.name)", path: path)
        }
        return database
    }
}
