import HabitStore

/// Counts the entries of index ranges up to a limit, to decide which of two access paths is shorter.
struct SQLiteProbe {
    /// The maximum length of a list from the other side of a relationship.
    private static let longestList = 256
    /// Such a list must select less than one in this many records.
    static let leastShare = 16
    /// The number of entries counted to find out if a range is small.
    private static let longestRange = 1_024
    /// Estimates are counted up to this number.
    static let longestCount = 10_000

    let connection: SQLiteConnection
    /// ``leastShare``, or another value in tests.
    var share = leastShare

    /// The number of records that meet conditions that an index answers; nil if no index does, or if there are many.
    ///
    /// A failed count is ignored: the query itself reads the same page and reports what is wrong with it.
    func rows(
        of record: SQLiteExpression.Record,
        _ tests: [SQLiteColumnTest],
        join: String,
        _ bindings: [Value]
    ) -> Int? {
        guard let found = record.table.index(for: tests.filter { $0.alias == record.alias }) else { return nil }
        let source = Self.source(record, found.index, join: join, found.tests)
        guard let count = try? count(source, limit: Self.longestList + 1, bindings) else { return nil }
        return count <= Self.longestList ? count : nil
    }

    /// Whether the conditions select a small part of an index. SQLite cannot know that, and would rather read the whole table in
    /// the requested order.
    func isSmallRange(
        _ record: SQLiteExpression.Record,
        _ tests: [SQLiteColumnTest],
        orderedBy position: Int,
        _ bindings: [Value]
    ) -> Bool {
        guard let found = record.table.index(for: tests), found.index.positions.first != position,
            !found.tests.contains(where: \.isPoint)
        else { return false }
        let source = Self.source(record, found.index, join: "", found.tests)
        guard let count = try? count(source, limit: Self.longestRange + 1, bindings) else { return false }
        return count <= Self.longestRange && isSmallShare(count, of: record.table)
    }

    /// Whether a number of records is a small part of a table.
    func isSmallShare(_ count: Int, of table: SQLiteTable) -> Bool {
        let wanted = count * share
        return (try? self.count("FROM \(table.name)", limit: wanted, [])).map { $0 >= wanted } ?? false
    }

    /// The number of rows in an index range. Beyond the limit it is unknown, and the estimate is halfway to all rows.
    func estimate(_ record: SQLiteExpression.Record, _ tests: [SQLiteColumnTest], _ bindings: [Value]) throws -> Int {
        guard let found = record.table.index(for: tests) else { return try total(record.table) }
        let source = Self.source(record, found.index, join: "", found.tests)
        let counted = try count(source, limit: Self.longestCount + 1, bindings)
        guard counted > Self.longestCount else { return counted }
        return try (Self.longestCount + total(record.table)) / 2
    }

    /// The number of rows in a table, which SQLite counts by pages.
    func total(_ table: SQLiteTable) throws -> Int {
        try connection.withStatement("SELECT COUNT(*) FROM \(table.name)") { statement in
            try statement.step() ? Int(statement.int64(at: 0)) : 0
        }
    }

    private static func source(
        _ record: SQLiteExpression.Record,
        _ index: SQLiteTable.IndexKeys,
        join: String,
        _ tests: [SQLiteColumnTest]
    ) -> String {
        // Naming the index turns one that is missing in the file into an error rather than a scan.
        let choice = index.name.map { " INDEXED BY \($0)" } ?? ""
        return "FROM \(record.table.name) AS \(record.alias)\(choice)\(join) "
            + "WHERE \(tests.map(\.sql).joined(separator: " AND "))"
    }

    private func count(_ source: String, limit: Int, _ bindings: [Value]) throws -> Int {
        connection.notes.probes &+= 1
        let place = bindings.count + 1
        return try connection.withStatement("SELECT COUNT(*) FROM (SELECT 1 \(source) LIMIT ?\(place))") { statement in
            for (index, value) in bindings.enumerated() { try statement.bind(value, at: Int32(index + 1)) }
            try statement.bind(Int64(limit), at: Int32(place))
            return try statement.step() ? Int(statement.int64(at: 0)) : 0
        }
    }
}
