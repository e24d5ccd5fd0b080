import HabitStoreImport
import HabitStoreSQLite

/// The kinds of log entries for a row.
enum LoggedKind: Int64 {
    /// The row is there with these values, and may be replaced.
    case present = 0
    /// The row was not there before.
    case absent = 1
    /// The row was there with these values, and is deleted.
    case deleted = 2
    /// The row was there with these values, and was changed.
    case changed = 3

    /// Added to the kinds of entries for rows in which a value does not have its form.
    static let unformed: Int64 = 16
}

/// The triggers that log what is about to happen, or has happened, to mapped rows, whichever program writes them.
///
/// SQLite fires no trigger for a row that `INSERT OR REPLACE` or `UPDATE OR REPLACE` deletes. Triggers that run before the statement look for
/// the rows that have the new row's value of a unique index, and log them as present.
///
/// Deletions are logged before they happen: cascades run first, and may give the key out again. Changes and insertions are logged when they have
/// happened, and a newer trigger of the app's may run before: it can have changed a row whose insertion is logged later.
struct MappedTriggers {
    static let log = "habitstore_changes"
    /// The pattern of the triggers' names.
    static let names = "habitstore_[0-9]*_*"

    /// By their names.
    private(set) var all: [String: String] = [:]

    init(_ tables: [MappedTable], _ links: [MappedLinkTable]) {
        for table in tables {
            add(
                Logged(
                    number: table.number,
                    table: table.name,
                    columns: table.source.columns,
                    identity: Array(zip(table.keyColumns, table.collations)),
                    untyped: Set(table.source.columns.filter { table.source.table.column($0)?.isUntyped ?? true }),
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
                    identity: link.columns.map { ($0, .binary) },
                    untyped: [],
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
        let identity: [(name: String, collation: Collation)]
        /// The columns that convert no value.
        let untyped: Set<String>
        let uniqueKeys: UniqueKeys
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
        var differ: String {
            columns.map { name in
                let quoted = SQLiteFormat.quoted(name)
                let differ = "OLD.\(quoted) COLLATE BINARY IS NOT NEW.\(quoted)"
                return untyped.contains(name)
                    ? "\(differ) OR typeof(OLD.\(quoted)) IS NOT typeof(NEW.\(quoted))" : differ
            }.joined(separator: " OR ")
        }

        /// Whether the new row is another one.
        var moves: String {
            identity.map { name, collation in
                let quoted = SQLiteFormat.quoted(name)
                return "OLD.\(quoted) COLLATE \(collation.rawValue) IS NOT NEW.\(quoted)"
            }.joined(separator: " OR ")
        }

        func same(_ left: String, _ right: String) -> String {
            identity.map { SQLiteFormat.quoted($0.name) }.map { "\(left).\($0) IS \(right).\($0)" }.joined(
                separator: " AND "
            )
        }

        /// Logs the rows that have the new row's value of a unique index.
        func replaced(_ isUpdate: Bool) -> [String] {
            let quoted = SQLiteFormat.quoted(table)
            var keys = uniqueKeys.keys.map { key in
                key.map { column in
                    let name = SQLiteFormat.quoted(column.name)
                    let new = column.replacement.map { "coalesce(NEW.\(name), \($0))" } ?? "NEW.\(name)"
                    return "\(quoted).\(name) = \(new) COLLATE \(column.collation.rawValue)"
                }
            }
            if let rowid = uniqueKeys.rowid { keys.append(["\(quoted).\(rowid) = NEW.\(rowid)"]) }
            return keys.map { pairs in
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
        let moves = logged.moves
        let oldKind = "CASE WHEN \(moves) THEN \(LoggedKind.deleted.rawValue) ELSE \(LoggedKind.changed.rawValue) END"
        add("before_insert", "BEFORE INSERT ON \(quoted)", logged.replaced(false))
        add("insert", "AFTER INSERT ON \(quoted)", [logged.insert(logged.newKind, "NEW", logged.absentCount)])
        add("before_update", "BEFORE UPDATE ON \(quoted)", logged.replaced(true))
        add(
            "update",
            "AFTER UPDATE ON \(quoted) WHEN \(logged.differ)",
            [
                logged.insert(oldKind, "OLD"),
                logged.insert(logged.newKind, "NEW", logged.absentCount) + " WHERE \(moves)",
            ]
        )
        add("delete", "BEFORE DELETE ON \(quoted)", [logged.insert("\(LoggedKind.deleted.rawValue)", "OLD")])
    }
}
