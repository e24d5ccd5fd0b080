import HabitStore

/// Indexes that are dropped while many records are inserted, and made anew from all of them: SQLite sorts them then, instead
/// of looking for the place of each record in each index. In one transaction, which has them all when it is committed.
struct SQLiteIndexRebuild {
    /// The records from which on it is worth the change of the file's schema, after which others prepare their statements anew.
    private static let leastCount = 2_000

    private let indexes: [SQLiteColumnIndex]
    private let connection: SQLiteConnection

    /// - Parameter count: how many records are to be inserted.
    init(_ table: SQLiteTable, inserting count: Int, _ connection: SQLiteConnection) throws {
        self.connection = connection
        // An index cannot go while a statement reads, and what is there already has to be sorted once more.
        guard count >= Self.leastCount, !table.columnIndexes.isEmpty, !connection.isReading,
            try Self.hasAtMost(2 * count, table, connection)
        else {
            indexes = []
            return
        }
        indexes = try table.columnIndexes.filter { try Self.isAsDeclared($0, connection) }
    }

    /// Whether there is nothing to gain.
    var isEmpty: Bool { indexes.isEmpty }

    /// Only what would come out the same: a file keeps the indexes of earlier versions as they are.
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
