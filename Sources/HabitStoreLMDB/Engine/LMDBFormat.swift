@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys
import Synchronization

/// The names and versions of the on-disk format.
///
/// An LMDB environment in one file, with these named databases:
///
/// ```
/// metadata         UTF-8 key → UTF-8 value; "format" → "HabitStore 1",
///                  "indexes" → the names of the databases that are complete indexes, one per line, with
///                  " (clustering)" after the name of one that holds copies of records
/// <Entity>         identifier, 16 bytes → the record as RecordLayout describes it, checksum included
/// <Entity>.<a>+<b> index key (see IndexKeyLayout), which ends with the identifier → nothing, or
///                  in a clustering index the record, unless it has more than 1,024 bytes
/// history          token u64 and sequence u32, both big-endian →
///                  sequence 0:  timestamp Double (seconds since 2001) 8 bytes, number of changes u32,
///                               1 and the author's UTF-8, or 0
///                  sequence n:  kind (1 insert, 2 update, 3 delete), length of the entity's name u16, its UTF-8,
///                               identifier 16 bytes, then as JSON: nothing for an insert, the array of the updated
///                               attributes' names for an update, the object of preserved values for a delete
/// digests          entity, UTF-8, then 0 and the first identifier of the range, 16 bytes →
///                  depth in half bytes u8, number of records i64, sum of their hashes 16 bytes
/// ```
/// Numbers are little-endian unless said otherwise.
enum LMDBFormat {
    /// The version that is written, and the highest that can be read.
    static let version = 1
    /// The database of the bookkeeping.
    static let metadata = "metadata"
    /// The database of the history.
    static let history = "history"
    /// The database of the digests.
    static let digests = "digests"
    /// The metadata key of the format's name and version.
    static let formatKey = "format"
    private static let name = "HabitStore "

    /// The value of ``formatKey``.
    static var current: String { "\(name)\(version)" }

    /// The key prefix of an entity's digests.
    static func digestPrefix(_ entity: String) -> [UInt8] { Array(entity.utf8) + [0] }

    /// Throws for a format that this version cannot read.
    ///
    /// - Parameter text: the value of ``formatKey``.
    /// - Throws: `.newerVersion` with both numbers; `.notAStore` for anything that is not a version.
    static func require(_ text: String?, path: String) throws {
        guard let text, text.hasPrefix(name), let found = Int(text.dropFirst(name.count)), found >= 1 else {
            throw LMDBError.error(.notAStore, "the file is an LMDB environment of another program", path: path)
        }
        guard found <= version else {
            throw LMDBError.error(
                .newerVersion,
                "the store has format version \(found), and this version reads up to \(version); update the program",
                path: path
            )
        }
    }
}

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
