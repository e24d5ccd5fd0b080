import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

/// The store's tables in an app's file: their creation, checks and removal.
///
/// | table | holds |
/// |---|---|
/// | `habitstore_metadata` | the bookkeeping of every store, and the keys of ``AdoptedMetadata`` |
/// | `habitstore_key_TABLE` | the key of each identifier, of living and dead records |
/// | `habitstore_changes` | the log that the triggers `habitstore_NUMBER_EVENT` write; empty after each transaction of the store |
/// | `habitstore_history_transaction`, `habitstore_history_change` | the history |
/// | `habitstore_digest` | the digests |
enum AdoptedFile {
    // MARK: Opening

    /// Refuses a file that was not adopted, or by a newer version.
    static func require(_ connection: SQLiteConnection) throws {
        guard try connection.int64("SELECT 1 FROM sqlite_schema WHERE name = '\(MappedTriggers.log)'") != nil else {
            throw HabitStoreError(
                .notAStore,
                "this SQLite file was not adopted; adopt it first with `\(OperatorCommand.name) map adopt FILE MAPPING`, or in the app with "
                    + "MappedSQLiteStore.adopt",
                at: .init(path: connection.path)
            )
        }
        let format = try MappedSnapshot(connection, .empty(Schema([]))).metadata(AdoptedMetadata.format).flatMap {
            Int($0)
        }
        guard let format, format >= 1 else {
            throw HabitStoreError.damage(
                "the adopted file does not say of which format it is",
                at: .init(path: connection.path)
            )
        }
        guard format <= AdoptedMetadata.newestFormat else {
            throw HabitStoreError(
                .newerVersion,
                "the file was adopted in format \(format), and this program knows \(AdoptedMetadata.newestFormat); use a newer one",
                at: .init(path: connection.path)
            )
        }
    }

    /// Whether an earlier version adopted the file.
    static func isOutdated(_ connection: SQLiteConnection) throws -> Bool {
        try MappedSnapshot(connection, .empty(Schema([]))).metadata(AdoptedMetadata.format)
            != String(AdoptedMetadata.newestFormat)
    }

    /// Refuses another mapping than the one that the file was adopted with.
    static func require(_ mapping: TableMapping, _ snapshot: MappedSnapshot) throws {
        guard let text = try snapshot.metadata(AdoptedMetadata.mapping) else {
            throw HabitStoreError.damage("the adopted file has no mapping", at: .init(path: snapshot.path))
        }
        guard try TableMapping(parsing: Data(text.utf8)) == mapping else {
            throw HabitStoreError(
                .schemaMismatch,
                "the file was adopted with another mapping; open it with that one, or unadopt it and adopt it again",
                at: .init(path: snapshot.path)
            )
        }
    }

    /// Reads the file's schema, and refuses a file that lost the store's triggers.
    static func layout(_ mapping: TableMapping, _ schema: Schema, _ connection: SQLiteConnection) throws -> MappedLayout
    {
        try require(connection)
        let file = try TableFile(inPlace: connection.path, isAdopted: true)
        guard try file.schemaVersion == connection.schemaCookie else {
            throw HabitStoreError(
                .busy,
                "another program is changing the tables; try again",
                at: .init(path: connection.path)
            )
        }
        let plan = try TablePlanner.plan(mapping, file, schema)
        guard try !isOutdated(connection) else {
            throw HabitStoreError(
                .migrationRequired,
                "an earlier version adopted this file; open it for writing once",
                at: .init(path: connection.path)
            )
        }
        let layout = try MappedLayout(plan, connection)
        let found = try MappedCatalog(connection).triggers()
        guard found == layout.triggers else {
            let names = layout.triggers.filter { found[$0.key] != $0.value }.keys
            let tables = Set(names.compactMap { $0.split(separator: "_").dropFirst().first.flatMap { Int($0) } })
            let lost = layout.tables.filter { tables.contains($0.number) }.map(\.name)
            let links = layout.linkTables.filter { tables.contains($0.number) }.map(\.links.table)
            throw HabitStoreError(
                .schemaMismatch,
                "\((lost + links).sorted().joined(separator: ", ")) was changed or created again, and writes to it are not noticed any more: "
                    + "unadopt the file and adopt it again",
                at: .init(path: connection.path)
            )
        }
        return layout
    }

    /// Refuses a file whose declarations need something that only the app has: its own collation or function.
    ///
    /// - Returns: whether foreign keys can be enforced: each leads to unique columns.
    /// - Throws: ``HabitStoreError/Code/unsupported`` with SQLite's own words.
    private static func requireWritable(_ layout: MappedLayout, _ connection: SQLiteConnection) throws -> Bool {
        var hasForeignKeys = true
        let tables =
            layout.tables.map { table in
                (table.name, table.source.table.columns.filter { !$0.isGenerated }.map(\.name))
            } + layout.linkTables.map { ($0.links.table, $0.columns) }
        for (name, columns) in tables {
            let table = SQLiteFormat.quoted(name)
            let column = SQLiteFormat.quoted(columns.first ?? "")
            for sql in [
                "INSERT INTO \(table) DEFAULT VALUES", "UPDATE \(table) SET \(column) = \(column)",
                "DELETE FROM \(table)",
            ] {
                do {
                    _ = try connection.prepare(sql)
                } catch let error as HabitStoreError {
                    guard error.detail?.contains("foreign key mismatch") != true else {
                        hasForeignKeys = false
                        continue
                    }
                    throw HabitStoreError(
                        .unsupported,
                        "\(name) cannot be written by another program than the app: \(error.detail ?? error.message)",
                        at: .init(path: connection.path),
                        underlying: error
                    )
                }
            }
        }
        return hasForeignKeys
    }

    /// The sentence for the first row that violates a foreign key; nil if there is none.
    static func foreignKeyViolation(_ connection: SQLiteConnection) throws -> String? {
        let rows = try connection.prepare("PRAGMA foreign_key_check")
        guard try rows.step() else { return nil }
        let (table, parent) = (try rows.text(at: 0), try rows.text(at: 2))
        return
            "a row of \(table) refers to a row of \(parent) that is not there, and the file's foreign key forbids that"
    }

    /// Runs `body` in one write transaction on an app's file.
    private static func write(
        _ path: String,
        _ busyLimitSeconds: Double,
        _ body: (SQLiteConnection) throws -> Void
    ) throws {
        let connection = try SQLiteConnection(
            foreign: path,
            isWritable: true,
            enforcesForeignKeys: true,
            busyLimitSeconds: busyLimitSeconds
        )
        defer { connection.close() }
        try connection.beginWrite()
        do {
            try body(connection)
            try connection.commit()
        } catch {
            connection.rollback()
            throw error
        }
    }

    // MARK: Adopting

    /// Creates the store's tables and triggers, and gives each row an identifier, in one transaction.
    static func adopt(
        _ path: String,
        _ mapping: TableMapping,
        _ schema: Schema,
        busyLimitSeconds: Double
    ) throws -> TableMappingReport {
        let report = try cleanReport(path, mapping, schema)
        try write(path, busyLimitSeconds) { try create(mapping, schema, $0) }
        return report
    }

    /// Refuses a mapping that has findings in the file.
    private static func cleanReport(_ path: String, _ mapping: TableMapping, _ schema: Schema) throws
        -> TableMappingReport
    {
        let report = try mapping.check(try TableFile(inPlace: path, isAdopted: false), schema: schema)
        guard report.isClean else {
            throw HabitStoreError(
                .invalidValue,
                "the mapping does not fit the file: \(report.findings.map(\.message).joined(separator: "; "))",
                at: .init(path: path)
            )
        }
        return report
    }

    private static func create(_ mapping: TableMapping, _ schema: Schema, _ connection: SQLiteConnection) throws {
        try requireFreeNames(connection)
        let before = Set(try objects(connection))
        // The schema under the lock; the values were checked before, and are read again below.
        var planner = TablePlanner(mapping, try TableFile(inPlace: connection.path, isAdopted: true), schema)
        let layout = try MappedLayout(planner.plan(), connection)
        guard planner.findings.isEmpty else {
            throw HabitStoreError(
                .busy,
                "the tables changed while they were checked; try again",
                at: .init(path: connection.path)
            )
        }
        let columns = (0..<layout.logWidth).map { "c\($0)" }.joined(separator: ", ")
        let log =
            "CREATE TABLE \(MappedTriggers.log) (seq INTEGER PRIMARY KEY, source INTEGER NOT NULL, kind INTEGER NOT NULL, \(columns))"
        let definitions =
            [SQLiteFormat.metadataDefinition, log, SQLiteFormat.digestDefinition]
            + SQLiteHistory.Tables.adopted.definitions
        for definition in definitions { try connection.exec(definition) }
        for table in layout.tables { try connection.exec(table.keyDefinition) }
        let writer = MappedWriter(connection, layout)
        defer { writer.end() }
        try writer.setMetadata(AdoptedMetadata.format, String(AdoptedMetadata.newestFormat))
        try writer.setMetadata(AdoptedMetadata.mapping, try mapping.json())
        for table in layout.tables { try identify(table, writer) }
        try createTriggers(layout, connection)
        // Rows that violate foreign keys, and keys that lead to no unique columns, show that the app does not enforce them.
        let isEnforced = try requireWritable(layout, connection) && (try? foreignKeyViolation(connection)) == .some(nil)
        try writer.setMetadata(AdoptedMetadata.foreignKeys, isEnforced ? "on" : "off")
        try keep(try objects(connection).filter { !before.contains($0) }, writer)
    }

    /// Keeps the names of what adopting has made.
    private static func keep(_ made: [String], _ writer: MappedWriter) throws {
        try writer.setMetadata(AdoptedMetadata.objects, String(decoding: try JSONEncoder().encode(made), as: UTF8.self))
    }

    private static func createTriggers(_ layout: MappedLayout, _ connection: SQLiteConnection) throws {
        for (_, definition) in layout.triggers.sorted(by: { $0.key < $1.key }) { try connection.exec(definition) }
    }

    /// The names of the file's tables and triggers, triggers first.
    private static func objects(_ connection: SQLiteConnection) throws -> [String] {
        try connection.texts(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'trigger') ORDER BY type = 'table', name"
        )
    }

    private static func requireFreeNames(_ connection: SQLiteConnection) throws {
        let taken = try objects(connection).filter { $0.sqlName.text.hasPrefix(TableFile.storePrefix) }
        guard taken.isEmpty else {
            throw HabitStoreError(
                .unsupported,
                "the file has \(taken.joined(separator: ", ")), and names that begin with \(TableFile.storePrefix) are the store's",
                at: .init(path: connection.path)
            )
        }
    }

    /// Brings a file that an earlier version adopted up to date.
    static func upgrade(_ mapping: TableMapping, _ schema: Schema, _ connection: SQLiteConnection) throws {
        let bookkeeping = MappedWriter(connection, .empty(schema))
        defer { bookkeeping.end() }
        // Another process may have done it meanwhile.
        guard try isOutdated(connection) else { return }
        var planner = TablePlanner(mapping, try TableFile(inPlace: connection.path, isAdopted: true), schema)
        let layout = try MappedLayout(planner.plan(), connection)
        // Format 1 had triggers that missed some writes, and no list of what it made.
        for name in try MappedCatalog(connection).triggers().keys {
            try connection.exec("DROP TRIGGER \(SQLiteFormat.quoted(name))")
        }
        try createTriggers(layout, connection)
        try keep(try objects(connection).filter { $0.hasPrefix(TableFile.storePrefix) }, bookkeeping)
        try bookkeeping.setMetadata(AdoptedMetadata.format, String(AdoptedMetadata.newestFormat))
    }

    /// Gives each row of a table an identifier.
    private static func identify(_ table: MappedTable, _ writer: MappedWriter) throws {
        let (connection, layout) = (try writer.connection, writer.layout)
        let columns = table.source.columns.map { SQLiteFormat.quoted($0) }.joined(separator: ", ")
        var hasMixedText = false
        let rows = try connection.prepare("SELECT \(columns) FROM \(table.quotedName)")
        let insert = try connection.prepare(table.insertKey)
        while try rows.step() {
            let row = rows.row(0..<table.source.columns.count)
            let key = table.key(row)
            guard let id = layout.plan.identifier(key, of: table.source) else {
                throw HabitStoreError(
                    .invalidValue,
                    "a row of \(table.name) has no key that can be an identifier",
                    at: .init(path: connection.path)
                )
            }
            insert.reset()
            try insert.bind(id, at: 1)
            try insert.bind(key, from: 2)
            try insert.run()
            hasMixedText =
                hasMixedText || row.contains { if case .text(let text) = $0 { !text.isInNFC } else { false } }
        }
        if hasMixedText { try writer.setMetadata(AdoptedMetadata.mixedText(table.name), "1") }
    }

    // MARK: Unadopting

    /// Removes the store's tables and triggers.
    static func unadopt(_ path: String, allowsOutdated: Bool, busyLimitSeconds: Double) throws {
        try write(path, busyLimitSeconds) { connection in
            try require(connection)
            let bookkeeping = MappedSnapshot(connection, .empty(Schema([])))
            guard try allowsOutdated || bookkeeping.metadata(AdoptedMetadata.fence) == nil else {
                throw HabitStoreError(
                    .notAuthoritative,
                    "another store of the user has newer records than this file: demote the user or pull the kill switch first, so that "
                        + "the file gets them",
                    at: .init(path: path)
                )
            }
            let made = try bookkeeping.metadata(AdoptedMetadata.objects).map {
                try JSONDecoder().decode([String].self, from: Data($0.utf8))
            }
            // Format 1 kept no list.
            let names = Set(try made ?? objects(connection).filter { $0.hasPrefix(TableFile.storePrefix) })
            for kind in ["trigger", "table"] {
                for name in try connection.texts("SELECT name FROM sqlite_schema WHERE type = '\(kind)'")
                where names.contains(name) {
                    try connection.exec("DROP \(kind) \(SQLiteFormat.quoted(name))")
                }
            }
        }
    }
}
