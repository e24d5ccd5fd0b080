import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

/// A mapped table, and the statements that read and write its rows.
struct MappedTable: Sendable {
    /// Identifies the table in the log of changes.
    let number: Int
    let source: TablePlan.Source
    /// Each unique index, with the collations by which its columns are compared.
    let uniqueKeys: [[(column: String, collation: String)]]
    /// Whether the app has triggers that may change a written row.
    let hasAppTriggers: Bool
    /// Whether SQLite keeps the greatest key that the table ever had.
    let keepsSequence: Bool
    /// Reads the identifiers and rows; a condition may follow.
    let select: String
    /// Reads one row by its key.
    let selectRow: String
    /// Reads the identifier of a key.
    let selectIdentifier: String
    /// Reads the key of an identifier.
    let selectKey: String
    /// Stores the key of an identifier.
    let insertKey: String
    /// The condition for one row, whose parameters begin at a number.
    let keyCondition: @Sendable (_ first: Int) -> String

    var name: String { source.table.name }
    var quotedName: String { SQLiteFormat.quoted(name) }
    var keyTable: String { Self.keyTable(of: name) }
    var keyColumns: [String] { source.key.map { source.columns[$0] } }

    /// Whether its keys are whole numbers that SQLite, or this engine, may choose.
    var hasNumberedKey: Bool { source.keyForm == nil && keyColumns.count == 1 && affinity(source.key[0]) == .integer }

    func affinity(_ place: Int) -> TableFile.Affinity { source.table.column(source.columns[place])?.affinity ?? .none }

    func isGenerated(_ place: Int) -> Bool { source.table.column(source.columns[place])?.isGenerated ?? false }

    /// The key of a row.
    func key(_ row: [SourceValue]) -> [SourceValue] { source.key.map { row[$0] } }

    /// The key as its columns keep it.
    func stored(_ key: [SourceValue]) -> [SourceValue] {
        zip(key, source.key).map { $0.stored(in: affinity($1)) }
    }

    static func keyTable(of table: String) -> String { SQLiteFormat.quoted("habitstore_key_\(table.sqlName.text)") }

    init(
        number: Int,
        source: TablePlan.Source,
        uniqueKeys: [[(column: String, collation: String)]],
        hasAppTriggers: Bool,
        keepsSequence: Bool
    ) {
        (self.number, self.source, self.uniqueKeys) = (number, source, uniqueKeys)
        (self.hasAppTriggers, self.keepsSequence) = (hasAppTriggers, keepsSequence)
        let table = SQLiteFormat.quoted(source.table.name)
        let keyTable = Self.keyTable(of: source.table.name)
        let columns = source.columns.map { "t.\(SQLiteFormat.quoted($0))" }.joined(separator: ", ")
        let keys = source.key.map { SQLiteFormat.quoted(source.columns[$0]) }
        let pairs = keys.indices.map { "k.k\($0) = t.\(keys[$0])" }.joined(separator: " AND ")
        select = "SELECT k.id, \(columns) FROM \(keyTable) AS k JOIN \(table) AS t ON \(pairs)"
        keyCondition = { first in keys.indices.map { "\(keys[$0]) = ?\(first + $0)" }.joined(separator: " AND ") }
        selectRow = "SELECT \(columns) FROM \(table) AS t WHERE \(keyCondition(1))"
        let names = keys.indices.map { "k\($0)" }
        selectIdentifier =
            "SELECT id FROM \(keyTable) WHERE \(names.indices.map { "k\($0) = ?\($0 + 1)" }.joined(separator: " AND "))"
        selectKey = "SELECT \(names.joined(separator: ", ")) FROM \(keyTable) WHERE id = ?1"
        insertKey =
            "INSERT INTO \(keyTable) (id, \(names.joined(separator: ", "))) VALUES (?1, "
            + names.indices.map { "?\($0 + 2)" }.joined(separator: ", ") + ")"
    }

    /// The table of the keys of all identifiers, of living and dead records. Its columns compare like those of the key.
    func keyDefinition(_ collations: [String]) -> String {
        let columns = source.key.enumerated().map { index, place in
            let type = source.table.column(source.columns[place])?.declaredType ?? ""
            let collation = collations[index] == "BINARY" ? "" : " COLLATE \(collations[index])"
            return "  k\(index)\(type.isEmpty ? "" : " \(SQLiteFormat.quoted(type))")\(collation) NOT NULL"
        }
        let names = source.key.indices.map { "k\($0)" }.joined(separator: ", ")
        return "CREATE TABLE \(keyTable) (\n  id BLOB NOT NULL PRIMARY KEY,\n\(columns.joined(separator: ",\n")),\n"
            + "  UNIQUE (\(names))\n) WITHOUT ROWID"
    }
}

/// A table of links, and whose links they are.
struct MappedLinkTable: Sendable {
    /// Identifies the table in the log of changes.
    let number: Int
    let links: TablePlan.LinkTable
    let uniqueKeys: [[(column: String, collation: String)]]
    /// Reads the targets of an owner.
    let select: String
    let insert: String
    let delete: String
    /// Whether the columns with the target's key keep whole numbers as such.
    let leadsByNumbers: Bool

    /// The columns in the log: those of the owner's key, then those of the target's.
    var columns: [String] { links.here + links.there }

    init(
        number: Int,
        links: TablePlan.LinkTable,
        uniqueKeys: [[(column: String, collation: String)]],
        leadsByNumbers: Bool
    ) {
        (self.number, self.links, self.uniqueKeys) = (number, links, uniqueKeys)
        self.leadsByNumbers = leadsByNumbers
        let table = SQLiteFormat.quoted(links.table)
        func conditions(_ columns: [String], _ first: Int) -> String {
            columns.enumerated().map { "\(SQLiteFormat.quoted($1)) = ?\(first + $0)" }.joined(separator: " AND ")
        }
        let there = links.there.map { SQLiteFormat.quoted($0) }.joined(separator: ", ")
        select = "SELECT \(there) FROM \(table) WHERE \(conditions(links.here, 1))"
        // A column may belong to both keys.
        let columns = links.here + links.there.filter { !links.here.contains($0) }
        insert =
            "INSERT INTO \(table) (\(columns.map { SQLiteFormat.quoted($0) }.joined(separator: ", "))) VALUES ("
            + columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ") + ")"
        delete =
            "DELETE FROM \(table) WHERE \(conditions(links.here, 1)) AND \(conditions(links.there, links.here.count + 1))"
    }

    /// Whether no pair of owner and target can be there twice.
    var hasDifferentPairs: Bool {
        let pair = Set(columns.map { $0.sqlName })
        return uniqueKeys.contains { key in key.allSatisfy { pair.contains($0.column.sqlName) } }
    }
}

/// Where an entity's records are.
struct MappedEntity: Sendable {
    /// The index of its table.
    let table: Int
    let part: TablePlan.Part
}

/// The parts of an adopted file that a mapping names, for one version of the file's schema.
struct MappedLayout: Sendable {
    let schema: Schema
    let plan: TablePlan
    let tables: [MappedTable]
    let linkTables: [MappedLinkTable]
    /// By the index of the entity.
    let entities: [MappedEntity]
    /// By their names.
    let triggers: [String: String]
    /// Whether texts are compared by their UTF-8 bytes.
    let comparesBytes: Bool
    /// The greatest number of columns that a row in the log of changes has.
    let logWidth: Int

    /// Of a file whose records are not read.
    static func empty(_ schema: Schema) -> MappedLayout { MappedLayout(schema) }

    private init(_ schema: Schema) {
        self.schema = schema
        plan = TablePlan(schema: schema, namespace: "")
        (tables, linkTables, entities, triggers, comparesBytes, logWidth) = ([], [], [], [:], false, 0)
    }

    /// The index of a table.
    func table(_ name: String) -> Int? { tables.firstIndex { $0.name.sqlName == name.sqlName } }

    /// The join table of an attribute.
    func linkTable(_ links: TablePlan.LinkTable) -> MappedLinkTable? {
        linkTables.first {
            $0.links.table.sqlName == links.table.sqlName && $0.links.here == links.here
                && $0.links.there == links.there
        }
    }

    /// The entities of a table.
    func entities(of table: Int) -> [(entity: Int, part: TablePlan.Part)] {
        entities.enumerated().filter { $0.element.table == table }.map { ($0.offset, $0.element.part) }
    }

    /// Reads how the file declares what the plan names.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for what cannot be served exactly.
    init(_ plan: TablePlan, _ connection: SQLiteConnection) throws {
        schema = plan.schema
        self.plan = plan
        let catalog = MappedCatalog(connection)
        let hasSequence = try connection.int64("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'") != nil
        tables = try plan.sources.enumerated().map { number, source in
            MappedTable(
                number: number,
                source: source,
                uniqueKeys: try catalog.uniqueKeys(of: source.table.name),
                hasAppTriggers: try catalog.hasAppTriggers(source.table.name),
                keepsSequence: hasSequence && source.table.keepsKeys
            )
        }
        var links: [MappedLinkTable] = []
        for part in plan.sources.flatMap(\.parts) {
            for case .links(let table) in part.fields {
                links.append(
                    MappedLinkTable(
                        number: Self.firstLinkNumber + links.count,
                        links: table,
                        uniqueKeys: try catalog.uniqueKeys(of: table.table),
                        leadsByNumbers: try catalog.haveNumbers(table.there, in: table.table)
                    )
                )
            }
        }
        linkTables = links
        entities = try Self.entities(plan, connection.path)
        logWidth = max(
            tables.map { $0.source.columns.count }.max() ?? 0,
            links.map { $0.columns.count }.max() ?? 0
        )
        comparesBytes = try connection.texts("PRAGMA encoding") == ["UTF-8"]
        triggers = MappedTriggers(tables, links).all
    }

    private static let firstLinkNumber = 10_000

    private static func entities(_ plan: TablePlan, _ path: String) throws -> [MappedEntity] {
        try plan.schema.entities.enumerated().map { index, entity in
            var found: [MappedEntity] = []
            for (table, source) in plan.sources.enumerated() {
                for part in source.parts where part.entity == index {
                    found.append(MappedEntity(table: table, part: part))
                }
            }
            guard let only = found.first, found.count == 1 else {
                throw HabitStoreError(
                    .unsupported,
                    found.isEmpty
                        ? "no table becomes \(entity.name), so its records have no place in this file; map one to it"
                        : "\(found.count) mappings become \(entity.name), and a new record could belong to any of them; map one",
                    at: .init(path: path, entity: entity.name)
                )
            }
            return only
        }
    }
}

/// Asks a file for its declarations.
struct MappedCatalog {
    private let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) { self.connection = connection }

    /// The unique indexes of a table by which a row can be replaced, and its primary key; also those over some rows only.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for an index over an expression.
    func uniqueKeys(of table: String) throws -> [[(column: String, collation: String)]] {
        try keys(of: table, includingPartial: true)
    }

    /// The unique indexes over all rows of a table, and its primary key.
    func wholeUniqueKeys(of table: String) throws -> [[(column: String, collation: String)]] {
        try keys(of: table, includingPartial: false)
    }

    private func keys(of table: String, includingPartial: Bool) throws -> [[(column: String, collation: String)]] {
        let quoted = SQLiteFormat.quoted(table)
        var keys: [[(column: String, collation: String)]] = []
        let indexes = try connection.prepare("PRAGMA index_list(\(quoted))")
        while try indexes.step() {
            guard indexes.int64(at: 2) == 1, includingPartial || indexes.int64(at: 4) == 0 else { continue }
            let name = try indexes.text(at: 1)
            let parts = try connection.prepare("PRAGMA index_xinfo(\(SQLiteFormat.quoted(name)))")
            var key: [(column: String, collation: String)] = []
            while try parts.step() {
                guard parts.int64(at: 5) == 1 else { continue }
                guard !parts.isNull(at: 2) else {
                    throw HabitStoreError(
                        .unsupported,
                        "\(table) has the unique index \(name) over an expression: rows that are replaced by it are not noticed",
                        at: .init(path: connection.path)
                    )
                }
                let collation = try parts.text(at: 4).uppercased()
                guard ["BINARY", "NOCASE", "RTRIM"].contains(collation) else {
                    throw HabitStoreError(
                        .unsupported,
                        "\(table) has the index \(name) with the app's own collation \(collation), which only the app has",
                        at: .init(path: connection.path)
                    )
                }
                key.append((try parts.text(at: 2), collation))
            }
            keys.append(key)
        }
        let columns = try connection.prepare("PRAGMA table_xinfo(\(quoted))")
        var primary: [(place: Int64, column: String)] = []
        while try columns.step() {
            if columns.int64(at: 5) > 0 { primary.append((columns.int64(at: 5), try columns.text(at: 1))) }
        }
        primary.sort { $0.place < $1.place }
        // An INTEGER PRIMARY KEY has no index.
        let names = primary.map(\.column)
        if !names.isEmpty, !keys.contains(where: { $0.map(\.column) == names }) {
            keys.append(names.map { ($0, "BINARY") })
        }
        return keys
    }

    /// Whether columns are declared to hold whole numbers.
    func haveNumbers(_ columns: [String], in table: String) throws -> Bool {
        let names = Set(columns.map { $0.sqlName })
        let rows = try connection.prepare("PRAGMA table_xinfo(\(SQLiteFormat.quoted(table)))")
        while try rows.step() {
            guard names.contains(try rows.text(at: 1).sqlName) else { continue }
            if rows.isNull(at: 2) { return false }
            if try !rows.text(at: 2).uppercased().contains("INT") { return false }
        }
        return true
    }

    /// Whether the table has triggers other than the store's.
    func hasAppTriggers(_ table: String) throws -> Bool {
        try connection.withStatement(
            "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) = ?1 AND name NOT LIKE 'habitstore\\_%' ESCAPE '\\'"
        ) { statement in
            try statement.bind(table.sqlName.text, at: 1)
            return try statement.step()
        }
    }

    /// The store's triggers, by name.
    func triggers() throws -> [String: String] {
        try connection.withStatement(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'habitstore\\_%' ESCAPE '\\'"
        ) { statement in
            var triggers: [String: String] = [:]
            while try statement.step() { triggers[try statement.text(at: 0)] = try statement.text(at: 1) }
            return triggers
        }
    }
}
