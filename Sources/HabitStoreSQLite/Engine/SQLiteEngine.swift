import Dispatch
import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// The engine of ``SQLiteHabitStore``: an SQLite database in WAL mode with `synchronous=FULL`.
@_spi(Engines) public final class SQLiteEngine: StorageEngine {
    /// The path of the file.
    public var path: String? { database.path }

    let database: SQLiteDatabase
    let tables: [SQLiteTable]
    private let schema: Schema
    private let definitions: SQLiteDefinitions
    /// Text that is all in NFC stays so: this engine writes no other form.
    private let isKnownCanonical = Atomic<Bool>(false)
    /// A table of digests is never removed.
    private let hasDigests = Atomic<Bool>(false)
    /// The writes that wait to share a commit.
    let commits: SharedCommit<SQLiteConnection>

    #if PLANNER_MUTANTS
    /// A planner bug, planted by tests of the checks that must find it.
    private let mutant: SQLitePlannerMutant?
    private let joinShare: Int?
    #endif

    /// How to open a file.
    struct Options {
        var mode = SQLiteOpenMode.readOnly
        var file = SQLiteOptions()
        #if PLANNER_MUTANTS
        var mutant: SQLitePlannerMutant?
        var joinShare: Int?
        #endif
    }

    /// Opens or creates a store.
    init(path: String, schema: Schema, options: Options) throws {
        #if PLANNER_MUTANTS
        (mutant, joinShare) = (options.mutant, options.joinShare)
        #endif
        commits = SharedCommit(path: path) { $0.isInTransaction }
        let tables = try Self.tables(of: schema, path: path)
        let definitions = try schema.derived(SQLiteDefinitions.self) { try SQLiteDefinitions(tables) }
        (self.schema, self.tables, self.definitions) = (schema, tables, definitions)
        let mode = options.mode
        var isStore = false
        var listedIndexes: String?
        database = try SQLiteDatabase(path: path, mode: mode, options: options.file) { connection in
            isStore = try SQLiteFormat.isStore(connection)
            if !isStore, mode != .create {
                throw HabitStoreError(
                    .notAStore,
                    "this is an empty SQLite database and no store; choose another file, or let one be made here",
                    at: .init(path: connection.path)
                )
            }
            guard isStore else { return }
            try definitions.require(connection, schema, tables)
            if mode != .readOnly { listedIndexes = try SQLiteIndexUpkeep.listed(connection) }
        }
        if !isStore {
            try create()
        } else if mode != .readOnly, !database.sparesLog, listedIndexes != SQLiteIndexUpkeep(tables).list {
            try completeIndexes(schema)
        }
    }

    static func tables(of schema: Schema, path: String) throws -> [SQLiteTable] {
        try schema.validate()
        return try schema.derived([SQLiteTable].self) {
            let tables = schema.entities.enumerated().map { SQLiteTable(entity: $0, $1) }
            try SQLiteFormat.validate(tables, path: path)
            return tables
        }
    }

    /// If the indexes cannot be completed now, the store works with those that the file has.
    private func completeIndexes(_ schema: Schema) throws {
        do {
            try write { writer in
                // Checked before building indexes for a schema that the store does not have.
                try writer.requireSchema(schema, path: path)
                try SQLiteIndexUpkeep(tables).complete(writer)
            }
        } catch let error as HabitStoreError where Self.leavesIndexes(error) {
            return
        }
    }

    private static func leavesIndexes(_ error: HabitStoreError) -> Bool {
        [.corrupt, .full, .limitExceeded, .inputOutput, .busy, .outcomeUnknown, .permissionDenied].contains(error.code)
    }

    /// Another process may be creating the same store; the second one finds it complete.
    private func create() throws {
        try database.withWrite { connection in
            try connection.withLogMark {
                if try !SQLiteFormat.isStore(connection) { try SQLiteFormat.create(tables, connection) }
            }
        }
    }

    /// Runs `body` on one snapshot.
    public func read<R>(_ body: (SQLiteSnapshot) throws -> R) throws -> R {
        try database.withRead { connection in
            try definitions.require(connection, schema, tables)
            let isKnown = isKnownCanonical.load(ordering: .acquiring)
            let snapshot = SQLiteSnapshot(
                connection,
                tables,
                isKnownCanonical: isKnown,
                hasDigests: hasDigests.load(ordering: .acquiring)
            )
            defer { snapshot.end() }
            #if PLANNER_MUTANTS
            (snapshot.mutant, snapshot.joinShare) = (mutant, joinShare)
            #endif
            let result = try body(snapshot)
            if !isKnown, snapshot.textForm == true { isKnownCanonical.store(true, ordering: .releasing) }
            if snapshot.hasDigests == true { hasDigests.store(true, ordering: .releasing) }
            return result
        }
    }

    /// Throws if the path now leads to another file than the open one.
    public func requireInPlace() throws { try database.using { try $0.requireInPlace() } }

    /// Runs `body` in the write transaction, which is durable before this method returns.
    public func write<R>(_ body: (SQLiteWriter) throws -> R) throws -> R {
        try requireNoWrite()
        return try database.withWrite { connection in try connection.withLogMark { try run(body, connection) } }
    }

    /// Runs `body` in a write transaction that other writers may share; all but the first run in a savepoint.
    public func writeTogether<R>(_ body: (SQLiteWriter) throws -> R) throws -> R {
        try requireNoWrite()
        return try database.using { file in
            let deadline = file.writeDeadline
            return try commits.write(
                until: deadline.dispatchTime,
                leading: { gather in
                    try database.withWrite(until: deadline) { connection in
                        // Once for all writers: two marks in one commit would leave a gap in the log.
                        try connection.withLogMark {
                            let beginning = DispatchTime.now().uptimeNanoseconds
                            let result = try run(body, connection)
                            gather(connection, beginning)
                            return result
                        }
                    }
                },
                joining: { connection in
                    try file.lendingWriterLock { try connection.withSavepoint { try run(body, connection) } }
                }
            )
        }
    }

    private func requireNoWrite() throws {
        guard try !database.using({ $0.isHeldByThisThread }) else { throw HabitStoreError.nestedWrite(path: path) }
    }

    private func run<R>(_ body: (SQLiteWriter) throws -> R, _ connection: SQLiteConnection) throws -> R {
        try definitions.require(connection, schema, tables)
        let isKnown = isKnownCanonical.load(ordering: .acquiring)
        let writer = SQLiteWriter(
            connection,
            tables,
            isKnownCanonical: isKnown,
            hasDigests: hasDigests.load(ordering: .acquiring)
        )
        defer { writer.end() }
        #if PLANNER_MUTANTS
        (writer.mutant, writer.joinShare) = (mutant, joinShare)
        #endif
        return try body(writer)
    }

    /// Checks the file's definitions, its structure, every value of every record, the links and the form of texts.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        if let finding = try definitionFinding() { return [finding] }
        var findings = try SQLiteCheck.structure(database)
        do {
            try database.withRead { connection in
                var check = SQLiteCheck(connection, tables)
                try check.run(comparesIndexes: !findings.isEmpty, progress)
                findings += check.findings
                try connection.exec("PRAGMA shrink_memory")
            }
        } catch let error as HabitStoreError
            where error.code == .corrupt && findings.contains(where: { $0.severity == .damage })
        {
            // On a damaged page even ending the transaction fails. The findings already say why.
            return findings
        }
        return findings
    }

    /// The problem with the file's definitions. All other checks read through them.
    private func definitionFinding() throws -> StoreFinding? {
        do {
            try database.withRead { try definitions.require($0, schema, tables) }
            return nil
        } catch let error as HabitStoreError where error.isDamage {
            return StoreFinding(.damage, "definitionDiffers", error.message, entity: error.location.entity)
        }
    }

    /// Writes a consistent, compact copy to an unused path.
    public func backup(to path: String) throws { try database.backup(to: path) }

    /// Closes the file. Later transactions throw ``HabitStoreError/Code/closed``.
    ///
    /// If the checkpoint fails here, nothing is lost: the log is read when the store is next opened.
    public func close() { _ = try? database.close() }
}

/// Brings the indexes of a file into the form that the schema declares.
///
/// SQLite maintains whatever indexes a file has and uses those that it can, so they affect the speed of an answer but not its
/// contents.
struct SQLiteIndexUpkeep {
    private let indexes: [SQLiteColumnIndex]
    /// The value of ``SQLiteFormat/indexesKey`` in a file with all of the indexes.
    let list: String

    init(_ tables: [SQLiteTable]) {
        indexes = tables.flatMap(\.columnIndexes)
        list = indexes.map(\.listedName).joined(separator: "\n")
    }

    /// The indexes that the file lists; nil in stores of the first versions.
    static func listed(_ connection: SQLiteConnection) throws -> String? {
        try connection.withStatement(SQLiteFormat.selectMetadata) { statement in
            try statement.bind(SQLiteFormat.indexesKey, at: 1)
            return try statement.step() ? try statement.text(at: 0) : nil
        }
    }

    /// Creates the indexes that are missing or have other columns, and drops those that only an earlier schema declared. Runs in a
    /// write transaction: if the process dies, the file is unchanged.
    func complete(_ writer: SQLiteWriter) throws {
        let connection = try writer.connection
        let listed = try Self.listed(connection)
        guard listed != list else { return }
        let names = Set(indexes.map(\.name))
        for line in (listed ?? "").split(separator: "\n") {
            let name =
                line.hasSuffix(SQLiteFormat.clusteringMark) ? line.dropLast(SQLiteFormat.clusteringMark.count) : line
            if !names.contains(String(name)) { try drop(String(name), connection) }
        }
        for index in indexes {
            let columns = try Self.columns(of: index.name, connection)
            guard columns != index.columns else { continue }
            try drop(index.name, connection)
            try connection.exec(index.definition)
        }
        try writer.setMetadata(SQLiteFormat.indexesKey, list)
    }

    private func drop(_ name: String, _ connection: SQLiteConnection) throws {
        try connection.exec("DROP INDEX IF EXISTS \(SQLiteFormat.quoted(name))")
    }

    /// The columns of an index in the file; empty without such an index.
    static func columns(of index: String, _ connection: SQLiteConnection) throws -> [String] {
        try connection.withStatement("SELECT name FROM pragma_index_info(?1) ORDER BY seqno") { statement in
            try statement.bind(index, at: 1)
            var names: [String] = []
            while try statement.step() { names.append(try statement.text(at: 0)) }
            return names
        }
    }
}

@_spi(Engines) extension SQLiteEngine {
    /// Runs `body` in one write transaction, first on this schema's tables, then on those of another.
    public func reshape<R>(
        to schema: Schema,
        _ body: (_ writer: SQLiteWriter, _ reshaped: (Set<String>) throws -> SQLiteWriter) throws -> R
    ) throws -> R {
        let newTables = try Self.tables(of: schema, path: database.path)
        return try write { writer in
            try body(writer) { rewritten in
                let connection = try writer.connection
                let kept = Set(newTables.map(\.description.name)).subtracting(rewritten)
                for table in tables where !kept.contains(table.description.name) {
                    for name in table.tableNames { try connection.exec("DROP TABLE \(SQLiteFormat.quoted(name))") }
                }
                for table in newTables where rewritten.contains(table.description.name) {
                    for statement in table.definitions { try connection.exec(statement) }
                }
                try writer.setMetadata(SQLiteFormat.indexesKey, SQLiteIndexUpkeep(newTables).list)
                return SQLiteWriter(connection, newTables, isKnownCanonical: false, hasDigests: false)
            }
        }
    }
}
