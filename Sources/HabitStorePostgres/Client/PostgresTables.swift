/// The tables of all stores on a server. The article *On-disk formats* describes their contents.
enum PostgresTables {
    /// The version of the tables' contents that is written, and the highest that can be read.
    static let format: Int16 = 1

    /// The definition of a table.
    struct Table {
        let name: String
        /// The columns with the server's names of their types, starting with those of the key. None may be null.
        let columns: [(name: String, type: String)]
        /// The number of columns in the key.
        let keyLength: Int
        /// Whether each write changes rows: these tables leave room on their pages, so that a change need not update the table's
        /// index.
        var isRewritten = false

        /// The columns of the key.
        var key: [String] { columns.prefix(keyLength).map(\.name) }

        fileprivate var definition: String {
            let columns = columns.map { "\($0.name) \($0.type) NOT NULL" }.joined(separator: ", ")
            return "CREATE TABLE IF NOT EXISTS \(name) (\(columns), PRIMARY KEY (\(key.joined(separator: ", "))))"
                + (isRewritten ? " WITH (fillfactor = 50)" : "")
        }
    }

    static let all = [
        Table(
            name: "hs_store",
            columns: [
                ("store", "uuid"), ("format", "smallint"), ("name", "text"), ("version", "bigint"), ("meta", "bigint"),
                ("last_writes", "bytea"), ("token", "bigint"), ("digests", "bytea"), ("meta_sum", "bytea"),
            ],
            keyLength: 1,
            isRewritten: true
        ),
        Table(name: "hs_meta", columns: [("store", "uuid"), ("key", "text"), ("value", "text")], keyLength: 2),
        Table(
            name: "hs_record",
            columns: [("store", "uuid"), ("entity", "smallint"), ("id", "uuid"), ("body", "bytea")],
            keyLength: 3
        ),
        Table(
            name: "hs_index",
            columns: [("store", "uuid"), ("number", "smallint"), ("key", "bytea"), ("id", "uuid")],
            keyLength: 3
        ),
        Table(
            name: "hs_history",
            columns: [("store", "uuid"), ("token", "bigint"), ("sequence", "integer"), ("body", "bytea")],
            keyLength: 3
        ),
        Table(
            name: "hs_digest",
            columns: [("store", "uuid"), ("entity", "smallint"), ("first", "uuid"), ("body", "bytea")],
            keyLength: 3,
            isRewritten: true
        ),
        Table(
            name: "hs_evidence",
            columns: [("store", "uuid"), ("number", "bigint"), ("line", "bytea")],
            keyLength: 2
        ),
    ]

    /// Creates the missing tables, each in a separate transaction, because not every product can create several in one.
    static let statements = all.enumerated().map {
        PostgresStatement(name: "hs_table_\($0)", text: $1.definition)
    }
}
