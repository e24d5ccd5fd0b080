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
            if count > 0 { oddities.append(CoreDataOddity(kind, message(count), count: count)) }
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
            oddities.append(
                CoreDataOddity("historyPruned", "the history begins at transaction \(first): what was before is pruned")
            )
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
