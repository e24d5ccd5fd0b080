@_spi(Engines) import HabitStore
import Synchronization

/// The declarations of the tables and indexes in a schema's stores, and the check that a file matches them.
///
/// SQLite does what a file's declarations say: a collation makes it find other records, a trigger makes it write other values than
/// it was given, a view makes it read from anywhere, possibly without end. So the declarations are compared before anything is read
/// through them: once for each connection, and again when the file's schema cookie has changed. Only the tables and indexes of this
/// format are allowed. An index may be missing, which makes queries slower but not wrong.
final class SQLiteDefinitions: Sendable {
    private let bookkeeping: [SQLiteDefinition.Table]
    private let entities: [Entity]
    /// The listings of the last few files that matched. Most stores of a process have the same listing.
    private let right = Mutex<[[UInt8]]>([])
    private static let mostKept = 4

    /// The tables of one entity and the indexes of its links.
    private struct Entity: Sendable {
        let name: String
        let tables: [SQLiteDefinition.Table]
        let linkIndexes: [SQLiteDefinition.Index]
    }

    /// Tables that SQLite creates for its planner on `ANALYZE`.
    private static let statistics = [
        "CREATE TABLE sqlite_stat1(tbl,idx,stat)", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
    ]

    init(_ tables: [SQLiteTable]) throws {
        bookkeeping = try SQLiteFormat.commonTables.map(Self.table)
        entities = try tables.map { table in
            let links = table.links.compactMap(\.self)
            return Entity(
                name: table.description.name,
                tables: try [Self.table(table.definition)] + links.map { try Self.table($0.definition) },
                linkIndexes: try links.map { try Self.index($0.indexDefinition) }
            )
        }
    }

    private static func table(_ sql: String) throws -> SQLiteDefinition.Table {
        guard case .table(let table)? = SQLiteDefinition(sql.utf8) else { throw unreadable }
        return table
    }

    private static func index(_ sql: String) throws -> SQLiteDefinition.Index {
        guard case .index(let index)? = SQLiteDefinition(sql.utf8) else { throw unreadable }
        return index
    }

    private static var unreadable: HabitStoreError {
        HabitStoreError(.internalInconsistency, "a definition of the store's own cannot be read")
    }

    /// Throws if the file declares anything else. Runs in the connection's open transaction.
    ///
    /// A store of another schema passes: the caller's next step reports which schema it has.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt``, which names the table, index or other object.
    func require(_ connection: SQLiteConnection, _ schema: Schema, _ tables: [SQLiteTable]) throws {
        let cookie = connection.schemaCookie
        let notes = connection.notes
        if let judged = notes.judged, judged.cookie == cookie, judged.definitions === self { return }
        let listing = try SQLiteSchemaListing(connection)
        if !right.withLock({ $0.contains(listing.bytes) }), try judge(listing, connection, schema, tables) {
            right.withLock { kept in
                if kept.count >= Self.mostKept { kept.removeFirst() }
                kept.append(listing.bytes)
            }
        }
        guard listing.liesApart else {
            throw HabitStoreError.damage(
                "two tables or indexes of the file lie at the same page; restore a backup",
                at: .init(path: connection.path)
            )
        }
        notes.judged = (cookie, self)
    }

    /// - Returns: false for a store of another schema.
    private func judge(
        _ listing: SQLiteSchemaListing,
        _ connection: SQLiteConnection,
        _ schema: Schema,
        _ tables: [SQLiteTable]
    ) throws -> Bool {
        let judge = SQLiteDefinitionJudge(try listing.items(), path: connection.path)
        let definitions = try judge.definitions(besides: Self.statistics)
        for table in bookkeeping where table.name != SQLiteFormat.digestTable || definitions[table.name] != nil {
            try judge.require(table, entity: nil)
        }
        // Opening a file whatever its schema reads only the bookkeeping.
        if entities.isEmpty { return true }
        do {
            try requireEntities(judge, definitions)
        } catch let error as HabitStoreError where error.isDamage {
            // The bookkeeping has been verified by now, and says whether the file has this schema.
            let snapshot = SQLiteSnapshot(connection, tables, isKnownCanonical: false, hasDigests: false)
            defer { snapshot.end() }
            do {
                try snapshot.requireSchema(schema, path: connection.path)
            } catch let mismatch as HabitStoreError where !mismatch.isDamage {
                return false
            }
            throw error
        }
        return true
    }

    private func requireEntities(
        _ judge: SQLiteDefinitionJudge,
        _ definitions: [String: SQLiteDefinition]
    ) throws {
        for entity in entities {
            for table in entity.tables { try judge.require(table, entity: entity.name) }
        }
        let tables = Set((bookkeeping + entities.flatMap(\.tables)).map(\.name))
        for definition in definitions.values.sorted(by: { $0.name < $1.name }) {
            switch definition {
            case .table(let table):
                guard tables.contains(table.name) else { throw judge.foreign(table.name) }
            case .index(let index):
                guard isOurs(index) else { throw judge.otherwise(index.name, entity: nil) }
            }
        }
    }

    /// Whether this version or an earlier one made the index, for this schema or for one with other indexes: its name lists its
    /// keys, and its columns are those keys, the identifier, and then either none or all of the other columns.
    private func isOurs(_ index: SQLiteDefinition.Index) -> Bool {
        for entity in entities {
            if let links = entity.linkIndexes.first(where: { $0.name == index.name }) { return links == index }
            guard entity.name == index.table, let table = entity.tables.first else { continue }
            let columns = table.columns.map(\.name)
            return (1...index.columns.count).contains { count in
                let named = Array(index.columns.prefix(count))
                guard index.name == "\(entity.name)_by_\(named.joined(separator: "_"))" else { return false }
                let keys = named + (named.contains("id") ? [] : ["id"])
                return Set(keys).count == keys.count && columns.contains(all: keys)
                    && (index.columns == keys || index.columns == keys + columns.filter { !keys.contains($0) })
            }
        }
        return false
    }
}

extension [String] {
    fileprivate func contains(all others: [String]) -> Bool { others.allSatisfy(contains) }
}

/// Describes what is wrong with a file whose declarations are not those of a store.
struct SQLiteDefinitionJudge {
    private let items: [SQLiteSchemaListing.Item]
    private let path: String

    init(_ items: [SQLiteSchemaListing.Item], path: String) {
        self.items = items
        self.path = path
    }

    /// The tables and indexes by their names.
    ///
    /// - Parameter allowed: the SQL of tables that are not part of a store but may be in the file.
    /// - Throws: for a view, a trigger or a virtual table, and for a table or an index with a declaration that no store has.
    func definitions(besides allowed: [String]) throws -> [String: SQLiteDefinition] {
        var definitions: [String: SQLiteDefinition] = [:]
        for item in items {
            if item.kind == "table", item.table == item.name, allowed.contains(item.text) { continue }
            guard let definition = item.definition, definition.kind == item.kind, definition.name == item.name,
                definition.table == item.table, definitions.updateValue(definition, forKey: item.name) == nil
            else { throw otherwise(item.name, entity: nil) }
        }
        return definitions
    }

    /// Throws if a table is missing or declared differently.
    func require(_ table: SQLiteDefinition.Table, entity: String?) throws {
        guard let item = items.first(where: { $0.name == table.name }), case .table(let found)? = item.definition,
            Set(found.columns.map(\.name)).isSuperset(of: table.columns.map(\.name))
        else {
            throw HabitStoreError.damage(
                "the table \(table.name), or a column of it, is missing from the store; restore a backup",
                at: .init(path: path, entity: entity)
            )
        }
        guard found == table else { throw otherwise(table.name, entity: entity) }
    }

    /// The error for a table or index with a declaration that no store has.
    func otherwise(_ name: String, entity: String?) -> HabitStoreError {
        guard let item = items.first(where: { $0.name == name }), ["table", "index"].contains(item.kind) else {
            return foreign(name)
        }
        let advice = item.kind == "index" ? "drop it with the sqlite3 shell, or restore a backup" : "restore a backup"
        return HabitStoreError.damage(
            "the \(item.kind) \(Self.shown(name)) is not declared as a store's is, so that what is read and written through "
                + "it could be something else; \(advice)",
            at: .init(path: path, entity: entity)
        )
    }

    /// The error for an object that is not part of a store.
    func foreign(_ name: String) -> HabitStoreError {
        let kind = items.first { $0.name == name }.map(\.kind) ?? ""
        let word = ["table", "index", "view", "trigger"].contains(kind) ? kind : "thing"
        return HabitStoreError.damage(
            "the file has an extra \(word), \(Self.shown(name)), which is not part of a store; drop it with the sqlite3 "
                + "shell, or restore a backup",
            at: .init(path: path)
        )
    }

    /// A name from the file, which may be arbitrary text.
    private static func shown(_ name: String) -> String {
        let scalars = name.unicodeScalars
        let isPlain =
            scalars.count <= 64 && scalars.allSatisfy { $0.isASCII && $0.properties.generalCategory != .control }
        return isPlain ? name : "(a name that cannot be shown)"
    }
}

extension SQLiteDefinition {
    /// The value of `type` in `sqlite_schema`.
    fileprivate var kind: String {
        switch self {
        case .table: "table"
        case .index: "index"
        }
    }
}

/// The contents of a file's `sqlite_schema`: every table, index, view and trigger with the text that declares it.
struct SQLiteSchemaListing {
    /// A table, index, view or trigger.
    struct Item {
        let kind: String
        let name: String
        let table: String
        let definition: SQLiteDefinition?
        /// The declaration; empty for an object that SQLite creates without one.
        let text: String
    }

    /// More than any store has. A damaged file may list items without end.
    private static let mostItems = 10_000

    private let statement: SQLiteStatement
    /// The whole listing as bytes, without page numbers; different for different listings.
    private(set) var bytes: [UInt8] = []
    private var pages: [Int64] = []

    /// Reads the listing.
    init(_ connection: SQLiteConnection) throws {
        statement = try connection.prepare("SELECT type, name, tbl_name, sql, rootpage FROM sqlite_schema")
        bytes.reserveCapacity(4_096)
        while try statement.step() {
            for column: Int32 in 0..<4 { append(statement.type(at: column), statement.bytes(at: column)) }
            pages.append(statement.type(at: 4) == .integer ? statement.int64(at: 4) : 0)
            guard pages.count <= Self.mostItems else {
                throw HabitStoreError.damage(
                    "the file lists more than \(Self.mostItems) tables and indexes, which no store has; restore a backup",
                    at: .init(path: connection.path)
                )
            }
        }
        statement.reset()
    }

    private mutating func append(_ type: SQLiteColumnType, _ value: UnsafeRawBufferPointer) {
        bytes.append(UInt8(truncatingIfNeeded: type.rawValue))
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: value.count)) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: value)
    }

    /// Whether each item has its own root page; the first page belongs to the listing itself.
    var liesApart: Bool {
        let sorted = pages.sorted()
        return sorted.first ?? 2 > 1 && zip(sorted, sorted.dropFirst()).allSatisfy { $0 < $1 }
    }

    /// The parsed items.
    func items() throws -> [Item] {
        var items: [Item] = []
        defer { statement.reset() }
        while try statement.step() {
            func text(_ column: Int32) -> String { String(decoding: statement.bytes(at: column), as: UTF8.self) }
            items.append(
                Item(
                    kind: text(0),
                    name: text(1),
                    table: text(2),
                    definition: SQLiteDefinition(statement.bytes(at: 3)),
                    text: text(3)
                )
            )
        }
        return items
    }
}
