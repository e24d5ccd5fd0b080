import HabitStore
@_spi(Engines) import OrderedKeys
import Synchronization

/// The databases of a store, and what each of them contains.
final class LMDBCatalog: Sendable {
    let schema: Schema
    let path: String
    /// The schema in the form of ordered keys.
    let keys: KeyTables
    let metadata: LMDBDatabase
    let history: LMDBDatabase?
    /// Nil only in a store opened read-only that was never written by a version with digests.
    let digests: LMDBDatabase?
    /// The databases of the entities; nil only for an entity that a store opened read-only lacks.
    private let recordDatabases: [LMDBDatabase?]
    /// The databases of the indexes by their numbers; nil only for an index that a store opened read-only lacks.
    private let indexDatabases: [LMDBDatabase?]
    /// The key prefixes of the entities' digests.
    let digestPrefixes: [[UInt8]]
    /// The last moment at which all indexes were complete, see ``LMDBSnapshot/moment``.
    let completeMoment = Atomic<UInt64>(.max)
    let plans = KeyPlanCache()

    /// The catalog of a file whose databases match the tables.
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

    /// The databases that a schema needs, except the bookkeeping's.
    ///
    /// - Throws: `.schemaMismatch` if two would have the same name.
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

    /// The database of an entity's records.
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

    /// Whether the database of an entity's records exists.
    func hasRecords(_ table: KeyTable) -> Bool { recordDatabases[table.number] != nil }

    /// Whether the database of an index exists.
    func hasDatabase(_ index: KeyIndex) -> Bool { indexDatabases[index.number] != nil }

    /// The database of an index, for a plan or a writer.
    @inline(__always)
    func database(_ index: KeyIndex) throws -> LMDBDatabase {
        guard let database = indexDatabases[index.number] else {
            throw LMDBError.error(.schemaMismatch, "the store has no index \(index.name)", path: path)
        }
        return database
    }
}
