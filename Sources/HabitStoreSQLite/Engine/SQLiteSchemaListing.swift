@_spi(Engines) import HabitStore

/// What a file's own `sqlite_schema` lists: every table, index, view and trigger, with the text that declares it.
struct SQLiteSchemaListing {
    /// One of them.
    struct Item {
        let kind: String
        let name: String
        let table: String
        let definition: SQLiteDefinition?
        /// The text that declares it; empty for what SQLite makes without one.
        let text: String
    }

    /// More than any store has. A damaged file may list without end.
    private static let mostItems = 10_000

    private let statement: SQLiteStatement
    /// All of it as one run of bytes that no other listing has, but for the pages at which things lie.
    private(set) var bytes: [UInt8] = []
    private var pages: [Int64] = []

    /// Reads it.
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

    /// Whether each lies at pages of its own, of which the first belongs to the listing itself.
    var liesApart: Bool {
        let sorted = pages.sorted()
        return sorted.first ?? 2 > 1 && zip(sorted, sorted.dropFirst()).allSatisfy { $0 < $1 }
    }

    /// All of it, taken apart.
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
