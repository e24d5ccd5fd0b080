import HabitStore
import Synchronization

/// A store's databases: what belongs where.
final class LMDBCatalog: Sendable {
    /// An entity's databases.
    final class Table: Sendable {
        let name: String
        /// What the keys of the entity's digests begin with: its name, and 0.
        let digestPrefix: [UInt8]
        let layout: RecordLayout
        /// Nil only in a store opened read-only that has no such entity.
        let records: LMDBDatabase?
        let indexes: [Index]

        init(name: String, layout: RecordLayout, records: LMDBDatabase?, indexes: [Index]) {
            self.name = name
            digestPrefix = Array(name.utf8) + [0]
            self.layout = layout
            self.records = records
            self.indexes = indexes
        }
    }

    /// An index's database.
    final class Index: Sendable {
        /// Its place in the entity's indexes.
        let place: Int
        let layout: LMDBIndexKeyLayout
        /// For people: `Entry(habitID, date)`.
        let title: String
        /// The database's name.
        let name: String
        /// Whether it is declared to hold copies of records. What it holds is for the file to say: see
        /// ``LMDBSnapshot/holdsCopies(_:)``.
        let isClustering: Bool
        /// Nil only in a store opened read-only that has no such index.
        let database: LMDBDatabase?

        init(
            place: Int,
            layout: LMDBIndexKeyLayout,
            title: String,
            name: String,
            isClustering: Bool,
            database: LMDBDatabase?
        ) {
            self.place = place
            self.layout = layout
            self.title = title
            self.name = name
            self.isClustering = isClustering
            self.database = database
        }
    }

    let schema: Schema
    let path: String
    let tables: [Table]
    let metadata: LMDBDatabase
    let history: LMDBDatabase?
    /// Nil only in a store opened read-only whose versions so far kept no digests.
    let digests: LMDBDatabase?
    /// What ``LMDBFormat/indexesKey`` says when all indexes of the schema are complete, and no others.
    let indexList: [UInt8]
    /// The last moment at which all indexes were found to be complete, see ``LMDBSnapshot/moment``.
    let completeMoment = Atomic<UInt64>(.max)
    let plans = LMDBPlanCache()
    /// The databases of the schema's indexes.
    let indexNames: Set<String>

    /// A file whose databases are where the tables have them.
    init(schema: Schema, path: String, tables: LMDBTables) {
        self.schema = schema
        self.path = path
        self.tables = tables.tables
        metadata = tables.metadata
        history = tables.history
        digests = tables.digests
        indexList = tables.indexList
        indexNames = tables.indexNames
    }

    /// The layouts of all indexes' keys, which is where a schema that cannot be kept is found.
    static func layouts(_ schema: Schema) throws -> [[LMDBIndexKeyLayout]] {
        try schema.entities.map { entity in
            try entity.indexes.map { try LMDBIndexKeyLayout($0, of: entity) }
        }
    }

    /// The databases that a schema needs, apart from the bookkeeping's.
    ///
    /// - Throws: `.schemaMismatch` when two would have the same name.
    static func databaseNames(_ schema: Schema) throws -> [String] {
        var names = [LMDBFormat.history, LMDBFormat.digests]
        for entity in schema.entities {
            names.append(entity.name)
            names += entity.indexes.map { LMDBFormat.indexName(entity.name, $0) }
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
    func records(_ table: Table) throws -> LMDBDatabase {
        guard let records = table.records else {
            throw HabitStoreError(
                .schemaMismatch,
                "the store has no entity \(table.name)",
                at: .init(path: path, entity: table.name)
            )
        }
        return records
    }

    /// The database of an index that a plan or a writer uses.
    @inline(__always)
    func database(_ index: Index) throws -> LMDBDatabase {
        guard let database = index.database else {
            throw LMDBError.error(.schemaMismatch, "the store has no index \(index.name)", path: path)
        }
        return database
    }
}
