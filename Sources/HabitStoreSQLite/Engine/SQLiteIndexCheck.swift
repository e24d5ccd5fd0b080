import Foundation
@_spi(Engines) import HabitStore

/// Names the records whose index entries are wrong. SQLite's own integrity check detects wrong entries, but not their
/// records.
struct SQLiteIndexCheck {
    /// More findings about one index would not help.
    private static let mostFindings = 100

    private let connection: SQLiteConnection
    private let table: SQLiteTable
    private(set) var findings: [StoreFinding] = []

    init(_ connection: SQLiteConnection, _ table: SQLiteTable) {
        self.connection = connection
        self.table = table
    }

    mutating func run() throws {
        for index in table.indexKeys {
            guard let name = index.name else { continue }
            // The identifier is the last key of every index.
            var columns = index.positions.map { table.columns[$0] }
            if !index.positions.contains(0) { columns.append(table.columns[0]) }
            let title = table.indexes.first { SQLiteFormat.quoted($0.key) == name }?.value ?? name
            try compare(table.description.name, name, columns, id: table.columns[0], title, attribute: nil)
            if index.isClustering { try compareCopies(name, title) }
        }
        for position in table.linkPositions {
            guard let links = table.links[position] else { continue }
            let attribute = table.description.attributes[position].name
            let index = SQLiteFormat.quoted(links.objectNames[1])
            let title = "\(table.description.name)(\(attribute))"
            try compare(links.objectNames[0], index, ["target", "owner"], id: "owner", title, attribute: attribute)
        }
    }

    /// Names the records whose entry exists but has other values in the columns after its keys.
    private mutating func compareCopies(_ index: String, _ title: String) throws {
        let columns = table.columnPositions.map { table.columns[$0] }.joined(separator: ", ")
        let name = table.description.name
        let named = Set(findings.compactMap(\.id))
        let sql =
            "SELECT DISTINCT \(table.columns[0]) FROM (SELECT \(columns) FROM \(table.name) INDEXED BY \(index) EXCEPT "
            + "SELECT \(columns) FROM \(table.name) INDEXED BY \(Self.primaryKey(name))) LIMIT \(Self.mostFindings)"
        try connection.withStatement(sql) { statement in
            while try statement.step() {
                guard statement.type(at: 0) == .blob, statement.bytes(at: 0).count == 16 else { continue }
                let id = try statement.uuid(at: 0)
                guard !named.contains(id) else { continue }
                findings.append(
                    StoreFinding(
                        .damage,
                        "indexCopyStale",
                        "\(title) has a copy that differs from its record",
                        entity: name,
                        id: id
                    )
                )
            }
        }
    }

    /// The name of the primary key's index, which is the table itself. `NOT INDEXED` would let SQLite read a table without row
    /// numbers from any index that has all of the columns.
    private static func primaryKey(_ table: String) -> String {
        SQLiteFormat.quoted("sqlite_autoindex_\(table)_1")
    }

    private mutating func compare(
        _ plainName: String,
        _ index: String,
        _ columns: [String],
        id: String,
        _ title: String,
        attribute: String?
    ) throws {
        let rows = "SELECT \(columns.joined(separator: ", ")) FROM \(SQLiteFormat.quoted(plainName)) INDEXED BY"
        let stored = "\(rows) \(Self.primaryKey(plainName))"
        let indexed = "\(rows) \(index)"
        for (kind, sql, message) in [
            ("indexEntryMissing", "\(stored) EXCEPT \(indexed)", "lacks an entry for a record"),
            ("indexEntryExtra", "\(indexed) EXCEPT \(stored)", "has an entry that no record calls for"),
        ] {
            let limited = "SELECT DISTINCT \(id) FROM (\(sql)) LIMIT \(Self.mostFindings)"
            try connection.withStatement(limited) { statement in
                while try statement.step() {
                    let isIdentified = statement.type(at: 0) == .blob && statement.bytes(at: 0).count == 16
                    findings.append(
                        StoreFinding(
                            .damage,
                            kind,
                            "\(title) \(message)",
                            entity: table.description.name,
                            id: isIdentified ? try statement.uuid(at: 0) : nil,
                            attribute: attribute
                        )
                    )
                }
            }
        }
    }
}
