import Foundation
import HabitStore

/// A summary of a Core Data file's persistent history.
public struct CoreDataHistory: Sendable, Hashable, Encodable {
    /// The layout of the history tables.
    public enum Layout: String, Sendable, Hashable, Codable {
        /// Names are columns of each transaction, as in the first systems with a history.
        case inlineNames
        /// Names have their own table.
        case namesInTable
    }

    /// The layout of the history tables.
    public let layout: Layout
    /// The number of transactions.
    public let transactions: Int
    /// The number of the oldest transaction; 0 if there is none.
    public let first: Int64
    /// The number of the newest transaction; 0 if there is none.
    public let last: Int64
    /// The number of insertions.
    public let inserts: Int
    /// The number of updates.
    public let updates: Int
    /// The number of deletions.
    public let deletes: Int
    /// The number of deletions that kept values of the record.
    public let tombstones: Int
    /// The distinct authors.
    public let authors: [String]
    let oddities: [CoreDataOddity]
    let columns: CoreDataHistoryColumns

    /// Whether the history goes back to the file's first transaction.
    public var isComplete: Bool { first == 1 }

    private enum CodingKeys: String, CodingKey {
        case layout, transactions, first, last, inserts, updates, deletes, tombstones, authors
    }

    /// Nil if the file has no history.
    init?(_ connection: SourceConnection, _ tables: StoreTables, _ model: CoreDataModel) throws {
        guard let columns = CoreDataHistoryColumns(tables) else { return nil }
        self.columns = columns
        layout = columns.hasNamesInTable ? .namesInTable : .inlineNames
        transactions = Int(try connection.int("SELECT count(*) FROM ATRANSACTION") ?? 0)
        first = try connection.int("SELECT min(Z_PK) FROM ATRANSACTION") ?? 0
        last = try connection.int("SELECT max(Z_PK) FROM ATRANSACTION") ?? 0
        func changes(_ condition: String) throws -> Int {
            Int(try connection.int("SELECT count(*) FROM ACHANGE WHERE \(condition)") ?? 0)
        }
        inserts = try changes("ZCHANGETYPE = 0")
        updates = try changes("ZCHANGETYPE = 1")
        deletes = try changes("ZCHANGETYPE = 2")
        let kept = SourceConnection.isAnyFilled(columns.tombstones.map(SourceConnection.quoted))
        tombstones = try changes("ZCHANGETYPE = 2 AND \(kept)")
        authors = try connection.texts(
            "SELECT DISTINCT \(columns.author) AS a FROM ATRANSACTION t WHERE a NOT NULL ORDER BY 1"
        )
        var oddities: [CoreDataOddity] = []
        func note(_ kind: String, _ condition: String, _ message: (Int) -> String) throws {
            let count = try changes(condition)
            if count > 0 { oddities.note(kind, message(count), count: count) }
        }
        try note("changeKind", "ZCHANGETYPE IS NULL OR ZCHANGETYPE NOT IN (0, 1, 2)") {
            "\($0) changes of the history are of a kind that is not known"
        }
        try note("changeOrphaned", "ZTRANSACTIONID NOT IN (SELECT Z_PK FROM ATRANSACTION)") {
            "\($0) changes of the history belong to no transaction"
        }
        let numbers = model.entities.map { String($0.number) }.joined(separator: ", ")
        try note("changeElsewhere", "ZENTITY NOT IN (\(numbers))") {
            "\($0) changes of the history are of entities that the file does not have"
        }
        if first > 1 {
            oddities.note("historyPruned", "the history begins at transaction \(first): what was before is pruned")
        }
        self.oddities = oddities
    }

    /// Compares the layout and the counts, not the oddities.
    public static func == (left: CoreDataHistory, right: CoreDataHistory) -> Bool {
        left.layout == right.layout && left.first == right.first && left.last == right.last
            && left.transactions == right.transactions && left.inserts == right.inserts
            && left.updates == right.updates && left.deletes == right.deletes
    }

    /// Hashes the number of the last transaction.
    public func hash(into hasher: inout Hasher) { hasher.combine(last) }
}

/// One save by the app, from the file's persistent history.
public struct CoreDataTransaction: Sendable, Hashable {
    /// The transaction number, ascending; there may be gaps after the app has pruned the history.
    public let number: Int64
    /// The time of the save.
    public let timestamp: Date
    /// The author set by the app.
    public let author: String?
    /// The name of the app's context.
    public let context: String?
    /// The name of the app's process.
    public let process: String?
    /// The identifier of the app's bundle.
    public let bundle: String?
}

/// A save's change to one record.
public struct CoreDataChange: Sendable, Hashable {
    /// The kind of change.
    public enum Kind: Int, Sendable, Hashable {
        /// The record was inserted.
        case insert = 0
        /// The record was updated.
        case update = 1
        /// The record was deleted.
        case delete = 2
    }

    /// The number of the change.
    public let number: Int64
    /// The kind of change.
    public let kind: Kind
    /// The number of the record's entity.
    public let entity: Int
    /// The record's key.
    public let key: Int64
    /// The values that the app preserved of a deleted record, from `ZTOMBSTONE0` and so on.
    let tombstone: [(column: String, value: SourceValue)]

    /// Compares the change number, the kind, the entity and the key.
    public static func == (left: CoreDataChange, right: CoreDataChange) -> Bool {
        left.number == right.number && left.kind == right.kind && left.entity == right.entity && left.key == right.key
    }

    /// Hashes the change number.
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

extension CoreDataFile {
    /// Calls `body` with each history transaction after `number` and its changes, oldest first, until it returns false. A file without a
    /// history has none.
    public func enumerateHistory(
        after number: Int64 = 0,
        _ body: (CoreDataTransaction, [CoreDataChange]) throws -> Bool
    ) throws {
        guard let columns = history?.columns else { return }
        let statement = try connection.prepare(
            "SELECT t.Z_PK, t.ZTIMESTAMP, \(columns.author), \(columns.context), \(columns.process), \(columns.bundle) "
                + "FROM ATRANSACTION t WHERE t.Z_PK > ?1 ORDER BY t.Z_PK",
            .int(number)
        )
        let kept = columns.tombstones.map { ", \(SourceConnection.quoted($0))" }.joined()
        let changes = try connection.prepare(
            "SELECT Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK\(kept) FROM ACHANGE WHERE ZTRANSACTIONID = ?1 ORDER BY Z_PK"
        )
        while try statement.step() {
            let transaction = CoreDataTransaction(
                number: statement.optionalInt(0) ?? 0,
                timestamp: Date(timeIntervalSinceReferenceDate: statement.optionalDouble(1) ?? 0),
                author: statement.text(2),
                context: statement.text(3),
                process: statement.text(4),
                bundle: statement.text(5)
            )
            guard try body(transaction, read(changes, of: transaction.number, columns)) else { return }
        }
    }

    private func read(
        _ changes: SourceStatement,
        of number: Int64,
        _ columns: CoreDataHistoryColumns
    ) throws -> [CoreDataChange] {
        try changes.bind([.int(number)])
        var result: [CoreDataChange] = []
        while try changes.step() {
            guard let kind = changes.optionalInt(1).flatMap({ CoreDataChange.Kind(rawValue: Int($0)) }),
                let entity = changes.optionalInt(2), let key = changes.optionalInt(3)
            else { continue }
            let tombstone = columns.tombstones.enumerated().compactMap { place, column -> (String, SourceValue)? in
                let value = changes.value(4 + place)
                return value.isNull ? nil : (column, value)
            }
            result.append(
                CoreDataChange(
                    number: changes.optionalInt(0) ?? 0,
                    kind: kind,
                    entity: Int(entity),
                    key: key,
                    tombstone: tombstone
                )
            )
        }
        return result
    }
}

/// The columns of a file's history, for both layouts; `t` is the transaction in the expressions.
struct CoreDataHistoryColumns: Sendable {
    let hasNamesInTable: Bool
    let author: String
    let context: String
    let process: String
    let bundle: String
    /// `ZTOMBSTONE0` and so on.
    let tombstones: [String]

    /// Nil if the file has no history.
    init?(_ tables: StoreTables) {
        let needed = ["Z_PK", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID"]
        guard tables.has("ZTIMESTAMP", in: "ATRANSACTION"), needed.allSatisfy({ tables.has($0, in: "ACHANGE") }) else {
            return nil
        }
        let names = tables.columns["ATRANSACTIONSTRING"] != nil
        hasNamesInTable = names && tables.has("ZAUTHORTS", in: "ATRANSACTION")
        func expression(_ column: String) -> String {
            var parts: [String] = []
            if names, tables.has(column + "TS", in: "ATRANSACTION") {
                parts.append("(SELECT ZNAME FROM ATRANSACTIONSTRING s WHERE s.Z_PK = t.\(column)TS)")
            }
            if tables.has(column, in: "ATRANSACTION") { parts.append("t.\(column)") }
            return parts.isEmpty ? "NULL" : "coalesce(\(parts.joined(separator: ", ")), NULL)"
        }
        author = expression("ZAUTHOR")
        context = expression("ZCONTEXTNAME")
        process = expression("ZPROCESSID")
        bundle = expression("ZBUNDLEID")
        tombstones = tables.columns["ACHANGE", default: []].map(\.name).filter { $0.isNumbered("ZTOMBSTONE") }.sorted()
    }
}
