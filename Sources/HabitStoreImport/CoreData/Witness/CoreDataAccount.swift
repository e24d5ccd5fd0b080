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
        var accountant = Accountant(
            file: file,
            schema: store.schema,
            mapping: mapping,
            kept: try KeptValues(path: base + ".unmapped.jsonl"),
            statement: try Self.statement(base + ".import.json"),
            ledger: mapping == nil ? nil : try WitnessLedger(path: base + ".ledger.jsonl")
        )
        items = try store.read { try accountant.account($0) }
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
