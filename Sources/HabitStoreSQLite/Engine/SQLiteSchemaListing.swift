@_spi(Engines) import HabitStore

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
