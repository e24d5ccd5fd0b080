import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

/// A mapped table, and the statements that read and write its rows.
struct MappedTable: Sendable {
    /// Identifies the table in the log of changes.
    let number: Int
    let source: TablePlan.Source
    /// The keys by which a new row may replace an old one.
    let uniqueKeys: UniqueKeys
    /// The collations by which the columns of the key are compared.
    let collations: [Collation]
    /// Whether the app has triggers that may change a written row.
    let hasAppTriggers: Bool
    /// Columns without a type in which codes are texts.
    let textCodes: Set<Int>
    /// Whether a column is computed from others.
    let hasGeneratedColumns: Bool
    /// Whether a column is computed from others, or belongs to several attributes.
    let hasLinkedColumns: Bool
    /// Whether SQLite keeps the greatest key that the table ever had.
    let keepsSequence: Bool
    /// Reads the identifiers and rows; a condition may follow.
    let select: String
    /// Reads the identifier and row of an identifier.
    let selectRecord: String
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

    /// Whether each of its rows becomes a record of one part.
    func isAllOf(_ part: TablePlan.Part) -> Bool {
        source.parts.count == 1 && source.leftOut.isEmpty && part.conditions.isEmpty
    }

    func affinity(_ place: Int) -> TableFile.Affinity { source.affinities[place] }

    func isGenerated(_ place: Int) -> Bool { source.declared[place]?.isGenerated ?? false }

    /// Whether a column refuses NULL, or replaces it.
    func isNotNull(_ place: Int) -> Bool { source.declared[place]?.isNotNull ?? false }

    /// The place of a row in the log. Keys that are equal in the table have the same.
    func place(_ key: [SourceValue]) -> RowKey { place(key, inLinks: nil) }

    /// The place of an owner's links in the log.
    func place(_ key: [SourceValue], inLinks links: MappedLinkTable?) -> RowKey {
        RowKey(links?.number ?? number, zip(key, collations).map { $1.canonical($0) })
    }

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
        uniqueKeys: UniqueKeys,
        collations: [Collation],
        textCodes: Set<Int>,
        hasAppTriggers: Bool,
        keepsSequence: Bool
    ) {
        self.textCodes = textCodes
        (self.number, self.source, self.uniqueKeys, self.collations) = (number, source, uniqueKeys, collations)
        (self.hasAppTriggers, self.keepsSequence) = (hasAppTriggers, keepsSequence)
        hasGeneratedColumns = source.columns.contains { source.table.column($0)?.isGenerated ?? false }
        hasLinkedColumns =
            hasGeneratedColumns
            || source.parts.contains { part in
                let places = part.fields.flatMap(\.places)
                return Set(places).count < places.count
            }
        let table = SQLiteFormat.quoted(source.table.name)
        let keyTable = Self.keyTable(of: source.table.name)
        let columns = source.columns.map { "t.\(SQLiteFormat.quoted($0))" }.joined(separator: ", ")
        let keys = source.key.map { SQLiteFormat.quoted(source.columns[$0]) }
        let pairs = keys.indices.map { "k.k\($0) = t.\(keys[$0])" }.joined(separator: " AND ")
        select = "SELECT k.id, \(columns) FROM \(keyTable) AS k JOIN \(table) AS t ON \(pairs)"
        selectRecord = "\(select) WHERE k.id = ?1"
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
    var keyDefinition: String {
        let columns = source.key.enumerated().map { index, place in
            let type = source.table.column(source.columns[place])?.declaredType ?? ""
            let collation = collations[index] == .binary ? "" : " COLLATE \(collations[index].rawValue)"
            return "  k\(index)\(type.isEmpty ? "" : " \(SQLiteFormat.quoted(type))")\(collation) NOT NULL"
        }
        let names = source.key.indices.map { "k\($0)" }.joined(separator: ", ")
        return "CREATE TABLE \(keyTable) (\n  id BLOB NOT NULL PRIMARY KEY,\n\(columns.joined(separator: ",\n")),\n"
            + "  UNIQUE (\(names))\n) WITHOUT ROWID"
    }
}

/// How SQLite compares texts (https://www.sqlite.org/datatype3.html#collation).
enum Collation: String, Sendable {
    case binary = "BINARY"
    case nocase = "NOCASE"
    case rtrim = "RTRIM"

    /// A value that is the same for all that are equal.
    func canonical(_ value: SourceValue) -> SourceValue {
        guard case .text(let text) = value else { return value }
        switch self {
        case .binary: return value
        case .nocase: return .text(text.sqlName.text)
        case .rtrim: return .text(String(decoding: text.utf8.reversed().drop { $0 == 0x20 }.reversed(), as: UTF8.self))
        }
    }
}

/// The keys of a table by which a new row may replace an old one.
struct UniqueKeys: Sendable {
    struct Column: Sendable {
        let name: String
        let collation: Collation
        /// The expression that `OR REPLACE` stores instead of NULL.
        let replacement: String?
    }

    let keys: [[Column]]
    /// The name of the row's number, unless a column has it.
    let rowid: String?
}

extension TableFile.Column {
    /// Whether it converts no value.
    var isUntyped: Bool { affinity == TableFile.Affinity.none }
}

extension TablePlan.Field {
    /// The columns that it is stored in.
    var places: [Int] {
        switch self {
        case .missing, .identifier, .constant, .links: []
        case .column(let place, _, _), .cases(let place, _, _): [place]
        case .reference(let places, _): places
        }
    }
}

/// A table of links, and whose links they are.
struct MappedLinkTable: Sendable {
    /// Identifies the table in the log of changes.
    let number: Int
    let links: TablePlan.LinkTable
    let uniqueKeys: UniqueKeys
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
        uniqueKeys: UniqueKeys,
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
        return uniqueKeys.keys.contains { key in key.allSatisfy { pair.contains($0.name.sqlName) } }
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
        plan = TablePlan(schema: schema)
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
                collations: try catalog.collations(ofKeyOf: source),
                textCodes: try catalog.textCodes(of: source),
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
    /// - Throws: ``HabitStoreError/Code/unsupported`` for an index over an expression, or with a collation of the app's own.
    func uniqueKeys(of table: String) throws -> UniqueKeys {
        let columns = try self.columns(of: table)
        var keys: [[UniqueKeys.Column]] = []
        for index in try uniqueIndexes(of: table) {
            keys.append(
                index.columns.map { name, collation in
                    UniqueKeys.Column(
                        name: name,
                        collation: collation,
                        replacement: columns.first { $0.name == name }?.replacement
                    )
                }
            )
        }
        // An INTEGER PRIMARY KEY has no index.
        let primary = columns.filter { $0.keyPlace > 0 }.sorted { $0.keyPlace < $1.keyPlace }
        if !primary.isEmpty, !keys.contains(where: { $0.map(\.name) == primary.map(\.name) }) {
            keys.append(primary.map { UniqueKeys.Column(name: $0.name, collation: .binary, replacement: nil) })
        }
        return UniqueKeys(keys: keys, rowid: try rowid(of: table, columns.map(\.name), primary))
    }

    /// The collations of the columns of a table's key.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for a table without a key that stays unique.
    func collations(ofKeyOf source: TablePlan.Source) throws -> [Collation] {
        let table = source.table.name
        let key = source.key.map { source.columns[$0] }
        let names = Set(key.map(\.sqlName))
        let refused = { (message: String) in
            HabitStoreError(.unsupported, "\(table) \(message)", at: .init(path: connection.path))
        }
        if source.identity != nil, source.keyForm == nil {
            throw refused("has its identifiers in another column than its key, which only imports can read")
        }
        if source.keyForm == nil, key.contains(where: { source.table.column($0)?.isUntyped ?? true }) {
            throw refused("has a key without a type, in which 1 and '1' are different rows; give it a type")
        }
        if let index = try uniqueIndexes(of: table).first(where: {
            $0.isWhole && Set($0.columns.map(\.name.sqlName)) == names
        }) {
            return key.map { name in index.columns.first { $0.name.sqlName == name.sqlName }?.collation ?? .binary }
        }
        let primary = try columns(of: table).filter { $0.keyPlace > 0 }
        guard Set(primary.map(\.name.sqlName)) == names else {
            throw refused(
                "has no primary key or unique index over \(key.joined(separator: ", ")), so a row cannot be found again for certain"
            )
        }
        return key.map { _ in .binary }
    }

    /// The columns without a type in which the first code is a text.
    func textCodes(of source: TablePlan.Source) throws -> Set<Int> {
        var found: Set<Int> = []
        for part in source.parts {
            for case .cases(let place, _, _) in part.fields
            where source.table.column(source.columns[place])?.isUntyped ?? true {
                let column = SQLiteFormat.quoted(source.columns[place])
                let sql =
                    "SELECT typeof(\(column)) = 'text' FROM \(SQLiteFormat.quoted(source.table.name)) WHERE \(column) IS NOT NULL LIMIT 1"
                if try connection.int64(sql) == 1 { found.insert(place) }
            }
        }
        return found
    }

    private struct DeclaredColumn {
        let name: String
        let type: String
        let keyPlace: Int64
        /// What NULL becomes, if the column refuses it: `OR REPLACE` then stores the default.
        let replacement: String?
    }

    private func columns(of table: String) throws -> [DeclaredColumn] {
        let rows = try connection.prepare("PRAGMA table_xinfo(\(SQLiteFormat.quoted(table)))")
        var columns: [DeclaredColumn] = []
        while try rows.step() {
            let hasReplacement = rows.int64(at: 3) == 1 && !rows.isNull(at: 4)
            columns.append(
                DeclaredColumn(
                    name: try rows.text(at: 1),
                    type: rows.isNull(at: 2) ? "" : try rows.text(at: 2),
                    keyPlace: rows.int64(at: 5),
                    replacement: hasReplacement ? try rows.text(at: 4) : nil
                )
            )
        }
        return columns
    }

    private func uniqueIndexes(
        of table: String
    ) throws -> [(columns: [(name: String, collation: Collation)], isWhole: Bool)] {
        var found: [(columns: [(name: String, collation: Collation)], isWhole: Bool)] = []
        let indexes = try connection.prepare("PRAGMA index_list(\(SQLiteFormat.quoted(table)))")
        while try indexes.step() {
            guard indexes.int64(at: 2) == 1 else { continue }
            let name = try indexes.text(at: 1)
            let parts = try connection.prepare("PRAGMA index_xinfo(\(SQLiteFormat.quoted(name)))")
            var columns: [(name: String, collation: Collation)] = []
            while try parts.step() {
                guard parts.int64(at: 5) == 1 else { continue }
                guard !parts.isNull(at: 2) else {
                    throw HabitStoreError(
                        .unsupported,
                        "\(table) has the unique index \(name) over an expression: rows that are replaced by it are not noticed",
                        at: .init(path: connection.path)
                    )
                }
                guard let collation = Collation(rawValue: try parts.text(at: 4).uppercased()) else {
                    throw HabitStoreError(
                        .unsupported,
                        "\(table) has the index \(name) with the app's own collation \(try parts.text(at: 4)), which only the app has",
                        at: .init(path: connection.path)
                    )
                }
                columns.append((try parts.text(at: 2), collation))
            }
            found.append((columns, indexes.int64(at: 4) == 0))
        }
        return found
    }

    /// The name by which a row's number can be used, if the table has numbers that are not in a column.
    private func rowid(of table: String, _ columns: [String], _ primary: [DeclaredColumn]) throws -> String? {
        let names = Set(columns.map(\.sqlName))
        guard let name = ["rowid", "oid", "_rowid_"].first(where: { !names.contains($0.sqlName) }) else { return nil }
        // A table without rowids has no such column, and an INTEGER PRIMARY KEY is one.
        guard (try? connection.prepare("SELECT \(name) FROM \(SQLiteFormat.quoted(table))")) != nil else { return nil }
        return primary.count == 1 && primary[0].type.uppercased() == "INTEGER" ? nil : name
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
            "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) = ?1 AND name NOT GLOB '\(MappedTriggers.names)'"
        ) { statement in
            try statement.bind(table.sqlName.text, at: 1)
            return try statement.step()
        }
    }

    /// The store's triggers, by name.
    func triggers() throws -> [String: String] {
        try connection.withStatement(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '\(MappedTriggers.names)'"
        ) { statement in
            var triggers: [String: String] = [:]
            while try statement.step() { triggers[try statement.text(at: 0)] = try statement.text(at: 1) }
            return triggers
        }
    }
}
