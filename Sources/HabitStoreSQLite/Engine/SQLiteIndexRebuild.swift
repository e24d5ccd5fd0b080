import HabitStore

/// Drops indexes while many records are inserted and rebuilds them afterwards: SQLite then sorts all entries instead of searching
/// for the place of each record in each index. Everything happens in one transaction, which has all indexes when it commits.
struct SQLiteIndexRebuild {
    /// The least number of records for which a schema change pays: after it, other connections prepare their statements again.
    private static let leastCount = 2_000

    private let indexes: [SQLiteColumnIndex]
    private let connection: SQLiteConnection

    /// - Parameter count: the number of records that will be inserted.
    init(_ table: SQLiteTable, inserting count: Int, _ connection: SQLiteConnection) throws {
        self.connection = connection
        // An index cannot be dropped while a statement reads, and a rebuild also sorts the records that are already there.
        guard count >= Self.leastCount, !table.columnIndexes.isEmpty, !connection.isReading,
            try Self.hasAtMost(2 * count, table, connection)
        else {
            indexes = []
            return
        }
        indexes = try table.columnIndexes.filter { try Self.isAsDeclared($0, connection) }
    }

    /// Whether there is nothing to rebuild.
    var isEmpty: Bool { indexes.isEmpty }

    /// Only indexes that would come out the same: a file keeps the indexes of earlier versions unchanged.
    private static func isAsDeclared(_ index: SQLiteColumnIndex, _ connection: SQLiteConnection) throws -> Bool {
        try connection.withStatement("SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?1") { statement in
            try statement.bind(index.name, at: 1)
            return try statement.step() && !statement.isNull(at: 0) && statement.text(at: 0) == index.definition
        }
    }

    private static func hasAtMost(_ limit: Int, _ table: SQLiteTable, _ connection: SQLiteConnection) throws -> Bool {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM \(table.name) LIMIT ?1)"
        return try connection.withStatement(sql) { statement in
            try statement.bind(Int64(limit) + 1, at: 1)
            return try statement.step() && statement.int64(at: 0) <= Int64(limit)
        }
    }

    func drop() throws {
        for index in indexes { try connection.exec("DROP INDEX \(SQLiteFormat.quoted(index.name))") }
    }

    func make() throws {
        for index in indexes { try connection.exec(index.definition) }
    }
}
