import Foundation
@_spi(Engines) import HabitStore

/// Accounts for everything in a Core Data file: compares each column of each table, row by row, with the store, the attachment, and the
/// statement that the import wrote next to it.
///
/// It uses neither the file's model nor the import's plan. It asks SQLite for the tables and columns, and looks for every value that is not
/// null: in one attribute of the store, which must be the same for the whole column and used by no other; in the attachment, under its
/// table, key and column; or in the statement, by name and count. A value found in none of them is unaccounted for.
public struct CoreDataAccount: Sendable, Encodable {
    /// The outcome for a column or a whole table.
    public struct Item: Sendable, Hashable, Encodable {
        /// The table.
        public let table: String
        /// The column; nil for a whole table.
        public let column: String?
        /// The number of values, or of rows for a whole table.
        public let count: Int
        /// How many of them are in the store.
        public internal(set) var carried = 0
        /// How many are in the attachment.
        public internal(set) var kept = 0
        /// How many the import's statement lists as left out, or are Core Data's own bookkeeping.
        public internal(set) var named = 0
        /// The attribute that has the values, or the reason why they are left out.
        public internal(set) var place: String?
        /// The key of a row with an unaccounted value.
        public internal(set) var example: Int64?

        /// How many are unaccounted for.
        public var unaccounted: Int { max(0, count - carried - kept - named) }

        init(_ table: String, _ column: String?, count: Int) {
            (self.table, self.column, self.count) = (table, column, count)
        }

        /// Marks the rest as left out.
        mutating func name(_ reason: String) {
            named += unaccounted
            place = place ?? reason
        }

        /// The finding in one sentence, without values.
        public var message: String {
            let what = column.map { "values of \(table).\($0)" } ?? "rows of \(table)"
            let row = example.map { ", as in the row \($0)" } ?? ""
            return
                "\(unaccounted) of \(count) \(what) are neither in the store nor in the attachment nor listed as left out\(row)"
        }
    }

    /// Every column with values, and every table that its columns do not account for.
    public let items: [Item]

    /// The items with unaccounted values.
    public var unaccounted: [Item] { items.filter { $0.unaccounted > 0 } }

    /// Accounts for a file.
    ///
    /// - Parameters:
    ///   - store: the store made from the file.
    ///   - notes: the base path of the attachment, the ledger and the statement; nil for the store's path.
    ///   - mapping: the mapping of the import; nil for a derived schema.
    /// - Throws: errors from reading the file, the store and the notes.
    public init(
        of file: CoreDataFile,
        in store: any UserStoreBackend,
        notes: String? = nil,
        mapping: CoreDataMapping? = nil
    ) throws {
        let base = notes ?? store.path ?? ""
        let kept = try UnmappedValues(path: base + ".unmapped.jsonl")
        let statement = try Self.statement(base + ".import.json")
        let ledger = mapping == nil ? nil : try WitnessLedger(path: base + ".ledger.jsonl")
        items = try store.read { transaction in
            var accountant = Accountant(
                file: file,
                store: transaction,
                mapping: mapping,
                kept: kept,
                statement: statement,
                ledger: ledger
            )
            return try accountant.account()
        }
    }

    private static func statement(_ path: String) throws -> [NotCarried] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        do {
            return try JSONDecoder().decode(ImportStatement.Contents.self, from: data).notCarried
        } catch {
            throw HabitStoreError(
                .invalidSource,
                "the list of what the import left out cannot be read",
                at: .init(path: path),
                underlying: error
            )
        }
    }
}

/// Searches for everything in all tables of a file.
struct Accountant {
    let file: CoreDataFile
    let store: any ReadTransaction
    let mapping: CoreDataMapping?
    let kept: UnmappedValues
    let statement: [NotCarried]
    let ledger: WitnessLedger?
    private(set) var items: [CoreDataAccount.Item] = []
    /// The entities' names and parents by number, from the file's list.
    private(set) var entities: [Int64: (name: String, parent: Int64)] = [:]

    var schema: Schema { store.schema }

    private static let historyTables: Set<String> = ["ATRANSACTION", "ACHANGE", "ATRANSACTIONSTRING"]
    private static let bookkeeping: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
    private static let ownColumns: Set<String> = [
        "Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX", "Z_VERSION", "Z_UUID", "Z_PLIST", "Z_CONTENT",
    ]

    mutating func account() throws -> [CoreDataAccount.Item] {
        try readEntities()
        let tables = try file.connection.catalog().tables
        var links: [String] = []
        for table in tables where !table.hasPrefix("sqlite_") {
            let columns = try self.columns(of: table)
            let rows = try count("*", table)
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
                try accountRecords(table, columns)
            } else {
                links.append(table)
            }
        }
        var taken: Set<LinkPlace> = []
        for table in links { try accountLinks(table, try columns(of: table), &taken) }
        if tables.contains("ATRANSACTION"), tables.contains("ACHANGE") { try accountHistory() }
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
        guard table == "Z_METADATA" else { return }
        add(CoreDataAccount.Item(table, "Z_PLIST", count: file.metadata.appKeys.count))
    }

    /// Accounts for a column's values that satisfy a condition, from the import's statement alone.
    private mutating func accountStated(_ table: String, _ column: String, where condition: String = "1") throws {
        add(CoreDataAccount.Item(table, column, count: try count(Self.quoted(column), table, where: condition)))
    }

    /// Adds an item. The import's statement on its column applies if it covers at least the unaccounted number.
    mutating func add(_ item: CoreDataAccount.Item) {
        guard item.count > 0 else { return }
        var item = item
        if item.unaccounted > 0,
            let left = statement.first(where: { $0.table == item.table && $0.column == item.column }),
            item.unaccounted <= left.count
        {
            item.name(left.reason)
        }
        items.append(item)
    }

    /// The number of values of an SQL expression.
    func count(_ expression: String, _ table: String, where condition: String = "1") throws -> Int {
        let sql = "SELECT count(\(expression)) FROM \(Self.quoted(table)) WHERE \(condition)"
        return Int(try file.connection.int(sql) ?? 0)
    }

    // MARK: Identifiers

    func derived(_ root: String, _ key: Int64) -> UUID { WitnessIdentifiers.derived(file, root, key) }

    /// Whether an identifier in the store belongs to the record with a key, in any table of the source.
    func leads(_ id: UUID, to key: Int64, entity: Int) throws -> Bool {
        if let ledger { return try ledger.has(id, key: key) || isDerived(id, key) }
        guard let place = schema.entities[entity].position(of: "coreDataKey") else { return false }
        guard let values = try values(id, entity) else { return isDerived(id, key) }
        return values[place] == .int(key)
    }

    func isDerived(_ id: UUID, _ key: Int64) -> Bool {
        entities.values.contains { $0.parent == 0 && derived($0.name, key) == id }
    }

    /// The values of a record; nil if there is none.
    func values(_ id: UUID, _ entity: Int) throws -> [Value]? {
        var record: EncodedRecord?
        _ = try store.withRow(entity: entity, id: id) { record = try $0.encoded() }
        return try record?.values(schema.entities[entity].layout)
    }
}

extension Accountant {
    /// Accounts for every transaction and change of the file's persistent history.
    mutating func accountHistory() throws {
        let transactions = try columns(of: "ATRANSACTION")
        let author = authorExpression(transactions)
        let found = ledger == nil ? try carried(author) : try keptTransactions()
        try name(
            "ATRANSACTION",
            found.transactions,
            found: found.transactionCount,
            [
                "ZTIMESTAMP", "ZAUTHOR", "ZAUTHORTS",
            ]
        )
        let told = ["ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID"]
        let tombstones = try columns(of: "ACHANGE").filter { $0.hasPrefix("ZTOMBSTONE") }
        try name("ACHANGE", found.changes, found: found.changeCount, told + tombstones)
        // Changes of unknown kinds are not imported, whatever they contain.
        for column in tombstones { try accountStated("ACHANGE", column, where: "ZCHANGETYPE IN (0, 1)") }
        try accountNames(transactions)
    }

    /// Accounts for the names that no transaction uses; the others are accounted for with their transactions.
    private mutating func accountNames(_ transactions: [String]) throws {
        let table = "ATRANSACTIONSTRING"
        guard file.tables.columns[table] != nil else { return }
        // A null in the list would make `NOT IN` unknown for every row.
        let used = transactions.filter { $0.hasSuffix("TS") }.map {
            "Z_PK NOT IN (SELECT coalesce(t.\(Self.quoted($0)), 'none') FROM ATRANSACTION t)"
        }
        let isUnused = "Z_PK IS NULL OR (\((used + ["1"]).joined(separator: " AND ")))"
        for column in try columns(of: table) where !["Z_PK", "Z_ENT", "Z_OPT"].contains(column) {
            try accountStated(table, column, where: column == "ZNAME" ? isUnused : "1")
        }
    }

    /// The numbers of transactions and changes in the source, and how many of them were found.
    struct HistoryResult {
        var transactions = 0
        var transactionCount = 0
        var changes = 0
        var changeCount = 0
    }

    /// The SQL expression for the author of a transaction `t`, for both layouts.
    private func authorExpression(_ columns: [String]) -> String {
        var parts: [String] = []
        if columns.contains("ZAUTHORTS") {
            parts.append("(SELECT s.ZNAME FROM ATRANSACTIONSTRING s WHERE s.Z_PK = t.ZAUTHORTS)")
        }
        if columns.contains("ZAUTHOR") { parts.append("t.ZAUTHOR") }
        return parts.isEmpty ? "NULL" : parts.count == 1 ? parts[0] : "coalesce(\(parts.joined(separator: ", ")))"
    }

    /// Adds the items of a history table: its rows, and each column not accounted for with the rows.
    private mutating func name(_ table: String, _ rows: Int, found: Int, _ told: [String]) throws {
        var item = CoreDataAccount.Item(table, table == "ATRANSACTION" ? "Z_PK" : "ZENTITYPK", count: rows)
        if ledger == nil { item.carried = found } else { item.kept = found }
        item.place = "the history"
        add(item)
        for column in try columns(of: table)
        where !["Z_PK", "Z_ENT", "Z_OPT"].contains(column) && !told.contains(column) {
            var item = CoreDataAccount.Item(table, column, count: try count(Self.quoted(column), table))
            let isKept = ["ZCONTEXTNAME", "ZPROCESSID", "ZBUNDLEID"].contains { column.hasPrefix($0) }
            if ledger != nil, isKept {
                item.kept = min(item.count, found)
                if item.count > 0 { items.append(item) }
            } else {
                add(item)
            }
        }
    }

    // MARK: History in the store

    private func carried(_ author: String) throws -> HistoryResult {
        var result = HistoryResult()
        let rows = try file.connection.prepare(
            "SELECT t.Z_PK, t.ZTIMESTAMP, \(author) FROM ATRANSACTION t ORDER BY t.Z_PK"
        )
        var source: [(number: Int64, seconds: Double, author: String?)] = []
        var isAtEnd = false
        func fill() throws {
            while source.count < 2, !isAtEnd {
                guard try rows.step() else { return isAtEnd = true }
                source.append((rows.optionalInt(0) ?? 0, rows.optionalDouble(1) ?? 0, rows.text(2)))
                result.transactions += 1
            }
        }
        try fill()
        try store.enumerateHistory(after: .zero) { transaction in
            guard let next = source.first else { return false }
            guard transaction.timestamp.timeIntervalSinceReferenceDate == next.seconds,
                transaction.author == next.author.map(Self.inStoresForm)
            else { return true }
            source.removeFirst()
            result.transactionCount += 1
            result.changeCount += try carriedChanges(of: next.number, transaction)
            try fill()
            return true
        }
        while !isAtEnd {
            source.removeAll()
            try fill()
        }
        result.changes = try count("*", "ACHANGE")
        return result
    }

    private static func inStoresForm(_ text: String) -> String {
        guard case .string(let normal)? = try? Value.string(text).normalized() else { return text }
        return normal
    }

    /// The number of a source transaction's changes that are in one of the store's transactions.
    private func carriedChanges(of number: Int64, _ transaction: HistoryTransaction) throws -> Int {
        let columns = try self.columns(of: "ACHANGE")
        let kept = columns.filter { $0.hasPrefix("ZTOMBSTONE") }
        let names = (["ZCHANGETYPE", "ZENTITY", "ZENTITYPK"] + kept).map(Self.quoted).joined(separator: ", ")
        let rows = try file.connection.prepare(
            "SELECT \(names) FROM ACHANGE WHERE ZTRANSACTIONID = ?1",
            .int(number)
        )
        var told: [String: HistoryChange] = [:]
        for change in transaction.changes {
            told["\(change.entity.lowercased()) \(try key(of: change))"] = change
        }
        var count = 0
        while try rows.step() {
            guard let kind = rows.optionalInt(0), let entity = rows.optionalInt(1), let key = rows.optionalInt(2),
                let root = ancestry(entity).last
            else { continue }
            let name = RecordFinder.entity(root, self).map { schema.entities[$0].name } ?? root
            let ids = ["\(name.lowercased()) \(key)", "\(name.lowercased()) \(derived(root, key))"]
            guard let change = ids.lazy.compactMap({ told[$0] }).first else {
                // A record that no longer exists may have left no trace of its insertion.
                if kind != 2, try isGone(key, root) { count += 1 }
                continue
            }
            if kind == 2, case .delete(let tombstone) = change.kind {
                let isWhole = kept.enumerated().allSatisfy { place, column in
                    let cell = rows.value(3 + place)
                    return cell.isNull || tombstone[column].map { WitnessCell.equals(cell, $0, file) } ?? false
                }
                if isWhole { count += 1 }
            } else {
                count += 1
            }
        }
        return count
    }

    /// The key of the record that a change of the store concerns, or its identifier if the key is unknown.
    private func key(of change: HistoryChange) throws -> String {
        if case .delete(let tombstone) = change.kind, case .int(let key)? = tombstone["coreDataKey"] { return "\(key)" }
        guard let entity = schema.entities.firstIndex(where: { $0.name == change.entity }),
            let place = schema.entities[entity].position(of: "coreDataKey"),
            let values = try values(change.id, entity), case .int(let key) = values[place]
        else { return "\(change.id)" }
        return "\(key)"
    }

    private func isGone(_ key: Int64, _ root: String) throws -> Bool {
        let tables = try file.connection.catalog().tables
        guard let table = tables.first(where: { $0.uppercased() == "Z" + root.uppercased() }) else { return true }
        return try file.connection.int("SELECT 1 FROM \(Self.quoted(table)) WHERE Z_PK = \(key)") == nil
    }

    // MARK: History in the attachment

    private func keptTransactions() throws -> HistoryResult {
        var result = HistoryResult()
        let rows = try file.connection.prepare(
            "SELECT t.Z_PK, t.ZTIMESTAMP, (SELECT count(*) FROM ACHANGE c WHERE c.ZTRANSACTIONID = t.Z_PK) FROM ATRANSACTION t"
        )
        while try rows.step() {
            guard let number = rows.optionalInt(0) else { continue }
            let changes = Int(rows.optionalInt(2) ?? 0)
            result.transactions += 1
            let isFollowed = try ledger?.followed(number) == true
            let kept = try kept.transaction(number)
            guard isFollowed || kept?.seconds == rows.optionalDouble(1) ?? 0 else { continue }
            result.transactionCount += 1
            result.changeCount += isFollowed ? changes : min(changes, kept?.changes ?? 0)
        }
        result.changes = try count("*", "ACHANGE")
        return result
    }
}
