import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// Searches for everything in all tables of a file.
struct Accountant {
    let file: CoreDataFile
    let schema: Schema
    let mapping: CoreDataMapping?
    let kept: KeptValues
    let statement: [NotCarried]
    let ledger: WitnessLedger?
    var items: [CoreDataAccount.Item] = []
    /// The entities' names and parents by number, from the file's list.
    var entities: [Int64: (name: String, parent: Int64)] = [:]

    static let historyTables: Set<String> = ["ATRANSACTION", "ACHANGE", "ATRANSACTIONSTRING"]
    private static let bookkeeping: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
    private static let ownColumns: Set<String> = [
        "Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX", "Z_VERSION", "Z_UUID", "Z_PLIST", "Z_CONTENT",
    ]

    init(
        file: CoreDataFile,
        schema: Schema,
        mapping: CoreDataMapping?,
        kept: KeptValues,
        statement: [NotCarried],
        ledger: WitnessLedger?
    ) {
        (self.file, self.schema, self.mapping) = (file, schema, mapping)
        (self.kept, self.statement, self.ledger) = (kept, statement, ledger)
    }

    mutating func account(_ store: any ReadTransaction) throws -> [CoreDataAccount.Item] {
        try readEntities()
        let tables = try file.connection.catalog().tables
        var links: [String] = []
        for table in tables where !table.hasPrefix("sqlite_") {
            let columns = try self.columns(of: table)
            let rows = Int(try file.connection.int("SELECT count(*) FROM \(Self.quoted(table))") ?? 0)
            guard rows > 0 else { continue }
            if Self.bookkeeping.contains(table) {
                try accountBookkeeping(table, rows)
            } else if let left = statement.first(where: { $0.table == table && $0.column == nil }), left.count >= rows {
                var item = CoreDataAccount.Item(table, nil, count: rows)
                item.name(left.reason)
                items.append(item)
            } else if Self.historyTables.contains(table) {
                continue
            } else if columns.contains("Z_PK"), columns.contains("Z_ENT"), root(of: table) != nil {
                try accountRecords(table, columns, store)
            } else {
                links.append(table)
            }
        }
        var taken: Set<LinkPlace> = []
        for table in links { try accountLinks(table, try columns(of: table), store, &taken) }
        if tables.contains("ATRANSACTION"), tables.contains("ACHANGE") { try accountHistory(store) }
        return items
    }

    // MARK: The file

    static func quoted(_ name: String) -> String { "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\"" }

    func columns(of table: String) throws -> [String] {
        let statement = try file.connection.prepare("SELECT * FROM \(Self.quoted(table)) LIMIT 0")
        return (0..<statement.columnCount).map { statement.columnName($0) }
    }

    private mutating func readEntities() throws {
        let rows = try file.connection.prepare("SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY WHERE Z_ENT > 0")
        while try rows.step() {
            guard let number = rows.optionalInt(0), let name = rows.text(1) else { continue }
            entities[number] = (name, rows.optionalInt(2) ?? 0)
        }
    }

    /// The root entity whose records are in a table.
    func root(of table: String) -> String? {
        entities.values.first { $0.parent == 0 && "Z" + $0.name.uppercased() == table.uppercased() }?.name
    }

    /// The names of an entity and its ancestors, nearest first.
    func ancestry(_ number: Int64) -> [String] {
        var result: [String] = []
        var next = number
        while let entity = entities[next], !result.contains(entity.name) {
            result.append(entity.name)
            next = entity.parent
        }
        return result
    }

    /// Accounts for Core Data's own tables. They contain only what describes the file, except for columns and keys that an app may have
    /// added.
    private mutating func accountBookkeeping(_ table: String, _ rows: Int) throws {
        var item = CoreDataAccount.Item(table, nil, count: rows)
        item.name("Core Data's own bookkeeping")
        items.append(item)
        for column in try columns(of: table) where !Self.ownColumns.contains(column) {
            try accountStated(table, column)
        }
        guard table == "Z_METADATA", !file.metadata.appKeys.isEmpty else { return }
        var keys = CoreDataAccount.Item(table, "Z_PLIST", count: file.metadata.appKeys.count)
        nameIfStated(&keys)
        items.append(keys)
    }

    /// Accounts for a column's values that satisfy a condition, from the import's statement alone.
    mutating func accountStated(_ table: String, _ column: String, where condition: String = "1") throws {
        let sql = "SELECT count(\(Self.quoted(column))) FROM \(Self.quoted(table)) WHERE \(condition)"
        var item = CoreDataAccount.Item(table, column, count: Int(try file.connection.int(sql) ?? 0))
        guard item.count > 0 else { return }
        nameIfStated(&item)
        items.append(item)
    }

    /// Applies the import's statement on a column, if it covers at least the unaccounted number.
    func nameIfStated(_ item: inout CoreDataAccount.Item) {
        guard let left = statement.first(where: { $0.table == item.table && $0.column == item.column }) else { return }
        guard item.unaccounted <= left.count else { return }
        item.name(left.reason)
    }

    // MARK: Identifiers

    /// The derived identifier of a record, following the documentation.
    func derived(_ root: String, _ key: Int64) -> UUID {
        let text = "habitstore coredata\0\(file.metadata.storeID.uppercased())\0\(root)\0\(key)\0"
        var digits = SHA256.hash(data: Data(text.utf8)).prefix(16).map { $0 }
        digits[6] = 0x80 | (digits[6] & 0b1111)
        digits[8] = 0x80 | (digits[8] & 0b11_1111)
        return NSUUID(uuidBytes: digits) as UUID
    }

    /// Whether an identifier in the store belongs to the record with a key, in any table of the source.
    func leads(_ id: UUID, to key: Int64, entity: Int, _ store: any ReadTransaction) throws -> Bool {
        if let ledger { return try ledger.has(id, key: key) || isDerived(id, key) }
        guard let place = schema.entities[entity].position(of: "coreDataKey") else { return false }
        guard let values = try values(id, entity, store) else { return isDerived(id, key) }
        return values[place] == .int(key)
    }

    private func isDerived(_ id: UUID, _ key: Int64) -> Bool {
        entities.values.contains { $0.parent == 0 && derived($0.name, key) == id }
    }

    /// The values of a record; nil if there is none.
    func values(_ id: UUID, _ entity: Int, _ store: any ReadTransaction) throws -> [Value]? {
        var record: EncodedRecord?
        _ = try store.withRow(entity: entity, id: id) { record = try $0.encoded() }
        return try record?.values(schema.entities[entity].layout)
    }
}
