import HabitStoreImport
import HabitStoreSQLite

/// The kinds of log entries for a row.
enum LoggedKind: Int64 {
    /// The row was there with these values; it may have been changed or replaced.
    case present = 0
    /// The row was not there before.
    case absent = 1
    /// The row was there with these values, and was deleted.
    case deleted = 2
}

/// The triggers that log what is about to happen, or has happened, to mapped rows, whichever program writes them.
///
/// SQLite fires no trigger for a row that `INSERT OR REPLACE` or `UPDATE OR REPLACE` deletes. Triggers that run before the statement look for
/// the rows that have the new row's value of a unique index, and log them as present.
struct MappedTriggers {
    static let log = "habitstore_changes"

    /// By their names.
    private(set) var all: [String: String] = [:]

    init(_ tables: [MappedTable], _ links: [MappedLinkTable]) {
        for table in tables {
            add(
                Logged(
                    number: table.number,
                    table: table.name,
                    columns: table.source.columns,
                    identity: table.keyColumns,
                    uniqueKeys: table.uniqueKeys,
                    absentCount: table.keyColumns.count
                )
            )
        }
        for link in links {
            add(
                Logged(
                    number: link.number,
                    table: link.links.table,
                    columns: link.columns,
                    identity: link.columns,
                    uniqueKeys: link.uniqueKeys,
                    absentCount: link.columns.count,
                    countsPairs: !link.hasDifferentPairs
                )
            )
        }
    }

    /// A table as the log has it.
    private struct Logged {
        let number: Int
        let table: String
        let columns: [String]
        /// The columns that tell its rows apart.
        let identity: [String]
        let uniqueKeys: [[(column: String, collation: String)]]
        /// How many columns are logged of a row that was not there before.
        let absentCount: Int
        /// Whether rows may have the same identity, so that a new one need not be the first.
        var countsPairs = false

        func insert(_ kind: String, _ row: String, _ count: Int? = nil) -> String {
            let logged = columns.prefix(count ?? columns.count)
            let names = logged.indices.map { "c\($0)" }.joined(separator: ", ")
            let values = logged.map { "\(row).\(SQLiteFormat.quoted($0))" }.joined(separator: ", ")
            return "INSERT INTO \(MappedTriggers.log) (source, kind, \(names)) SELECT \(number), \(kind), \(values)"
        }

        /// Whether two rows differ in some columns, by their bytes.
        func differ(_ columns: [String]) -> String {
            columns.map { SQLiteFormat.quoted($0) }.map { "OLD.\($0) COLLATE BINARY IS NOT NEW.\($0)" }
                .joined(separator: " OR ")
        }

        func same(_ left: String, _ right: String) -> String {
            identity.map { SQLiteFormat.quoted($0) }.map { "\(left).\($0) IS \(right).\($0)" }.joined(
                separator: " AND "
            )
        }

        /// Logs the rows that have the new row's value of a unique index.
        func replaced(_ isUpdate: Bool) -> [String] {
            let quoted = SQLiteFormat.quoted(table)
            return uniqueKeys.map { key in
                let pairs = key.map { column, collation in
                    "\(quoted).\(SQLiteFormat.quoted(column)) = NEW.\(SQLiteFormat.quoted(column)) COLLATE \(collation)"
                }
                let other = isUpdate ? " AND NOT (\(same(quoted, "OLD")))" : ""
                return insert("\(LoggedKind.present.rawValue)", quoted)
                    + " FROM \(quoted) WHERE \(pairs.joined(separator: " AND "))\(other)"
            }
        }

        /// The kind of a new row.
        var newKind: String {
            guard countsPairs else { return "\(LoggedKind.absent.rawValue)" }
            let quoted = SQLiteFormat.quoted(table)
            return "CASE WHEN (SELECT count(*) FROM \(quoted) WHERE \(same(quoted, "NEW"))) = 1 "
                + "THEN \(LoggedKind.absent.rawValue) ELSE \(LoggedKind.present.rawValue) END"
        }
    }

    /// The error message for the app's old code while another store has the user's records.
    static let fenceSentence =
        "the records of this file are in another store now, and this version of the app cannot write them; update the app"

    /// Refuses the writes of other programs while ``AdoptedMetadata/fence`` is there; the store removes it in its own transactions.
    private mutating func addFence(_ logged: Logged) {
        for event in ["INSERT", "UPDATE", "DELETE"] {
            let name = "habitstore_\(logged.number)_fence_\(event.lowercased())"
            all[name] =
                "CREATE TRIGGER \(SQLiteFormat.quoted(name)) BEFORE \(event) ON \(SQLiteFormat.quoted(logged.table)) "
                + "WHEN EXISTS (SELECT 1 FROM habitstore_metadata WHERE key = '\(AdoptedMetadata.fence)') BEGIN\n"
                + "  SELECT RAISE(ABORT, '\(Self.fenceSentence)');\nEND"
        }
    }

    private mutating func add(_ logged: Logged) {
        addFence(logged)
        let quoted = SQLiteFormat.quoted(logged.table)
        func add(_ word: String, _ event: String, _ statements: [String]) {
            guard !statements.isEmpty else { return }
            let name = "habitstore_\(logged.number)_\(word)"
            let body = statements.map { "  \($0);\n" }.joined()
            all[name] = "CREATE TRIGGER \(SQLiteFormat.quoted(name)) \(event) BEGIN\n\(body)END"
        }
        let moves = logged.differ(logged.identity)
        let oldKind = "CASE WHEN \(moves) THEN \(LoggedKind.deleted.rawValue) ELSE \(LoggedKind.present.rawValue) END"
        add("before_insert", "BEFORE INSERT ON \(quoted)", logged.replaced(false))
        add("insert", "AFTER INSERT ON \(quoted)", [logged.insert(logged.newKind, "NEW", logged.absentCount)])
        add("before_update", "BEFORE UPDATE ON \(quoted)", logged.replaced(true))
        add(
            "update",
            "AFTER UPDATE ON \(quoted) WHEN \(logged.differ(logged.columns))",
            [
                logged.insert(oldKind, "OLD"),
                logged.insert(logged.newKind, "NEW", logged.absentCount) + " WHERE \(moves)",
            ]
        )
        add("delete", "AFTER DELETE ON \(quoted)", [logged.insert("\(LoggedKind.deleted.rawValue)", "OLD")])
    }
}
