import HabitStore

/// Brings the indexes of a file into the form that the schema declares.
///
/// SQLite maintains whatever indexes a file has and uses those that it can, so they affect the speed of an answer but not its
/// contents.
struct SQLiteIndexUpkeep {
    private let indexes: [SQLiteColumnIndex]
    /// The value of ``SQLiteFormat/indexesKey`` in a file with all of the indexes.
    let list: String

    init(_ tables: [SQLiteTable]) {
        indexes = tables.flatMap(\.columnIndexes)
        list = indexes.map(\.listedName).joined(separator: "\n")
    }

    /// The indexes that the file lists; nil in stores of the first versions.
    static func listed(_ connection: SQLiteConnection) throws -> String? {
        try connection.withStatement(SQLiteFormat.selectMetadata) { statement in
            try statement.bind(SQLiteFormat.indexesKey, at: 1)
            return try statement.step() ? try statement.text(at: 0) : nil
        }
    }

    /// Creates the indexes that are missing or have other columns, and drops those that only an earlier schema declared. Runs in a
    /// write transaction: if the process dies, the file is unchanged.
    func complete(_ writer: SQLiteWriter) throws {
        let connection = try writer.connection
        let listed = try Self.listed(connection)
        guard listed != list else { return }
        let names = Set(indexes.map(\.name))
        for line in (listed ?? "").split(separator: "\n") {
            let name =
                line.hasSuffix(SQLiteFormat.clusteringMark) ? line.dropLast(SQLiteFormat.clusteringMark.count) : line
            if !names.contains(String(name)) { try drop(String(name), connection) }
        }
        for index in indexes {
            let columns = try Self.columns(of: index.name, connection)
            guard columns != index.columns else { continue }
            try drop(index.name, connection)
            try connection.exec(index.definition)
        }
        try writer.setMetadata(SQLiteFormat.indexesKey, list)
    }

    private func drop(_ name: String, _ connection: SQLiteConnection) throws {
        try connection.exec("DROP INDEX IF EXISTS \(SQLiteFormat.quoted(name))")
    }

    /// The columns of an index in the file; empty without such an index.
    static func columns(of index: String, _ connection: SQLiteConnection) throws -> [String] {
        try connection.withStatement("SELECT name FROM pragma_index_info(?1) ORDER BY seqno") { statement in
            try statement.bind(index, at: 1)
            var names: [String] = []
            while try statement.step() { names.append(try statement.text(at: 0)) }
            return names
        }
    }
}
