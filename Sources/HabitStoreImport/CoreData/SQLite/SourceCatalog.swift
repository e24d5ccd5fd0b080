import HabitStore

/// The tables of another app's database, divided into those that can be read and those that only the app can read.
package struct SourceCatalog {
    /// A table that needs a module, a tokenizer or a function of its app.
    package struct Unreadable: Hashable {
        package let name: String
        /// Whether it is a virtual table. Its module stores the contents in other tables, which are read like any other.
        package let isVirtual: Bool
        /// SQLite's message, which names the missing module.
        let reason: String

        /// The table and the missing part, for reports.
        package var description: String { "\(name) (\(reason))" }

        var oddity: CoreDataOddity {
            isVirtual
                ? CoreDataOddity(
                    "virtualTableNotRead",
                    "the virtual table \(description) is left alone: it needs its app"
                )
                : CoreDataOddity("tableUnreadable", "the table \(description) is not read: it needs its app")
        }
    }

    /// The names of the readable tables, sorted.
    package private(set) var tables: [String] = []
    package private(set) var unreadable: [Unreadable] = []

    /// Tries to read a row of each table.
    ///
    /// - Throws: errors from reading a damaged database.
    init(_ connection: SourceConnection) throws {
        let rows = try connection.prepare(
            "SELECT name, sql LIKE 'CREATE VIRTUAL TABLE%' FROM sqlite_master WHERE type = 'table' ORDER BY name"
        )
        while try rows.step() {
            let (name, isVirtual) = (rows.text(0) ?? "", rows.optionalInt(1) == 1)
            do {
                try Self.probe(name, isVirtual, connection)
                tables.append(name)
            } catch let error as HabitStoreError where connection.needsApp(isVirtual: isVirtual) {
                // SQLite's message for rows stored in the order of an unknown collation.
                let reason = error.detail == "no query solution" ? "no such collation sequence" : error.detail
                unreadable.append(Unreadable(name: name, isVirtual: isVirtual, reason: reason ?? error.message))
            }
        }
    }

    /// Some modules fail only when asked for a row.
    private static func probe(_ name: String, _ isVirtual: Bool, _ connection: SourceConnection) throws {
        let table = SourceConnection.quoted(name)
        let row = try connection.prepare("SELECT * FROM \(table) LIMIT 1")
        guard isVirtual else { return }
        _ = try row.step()
        _ = try connection.int("SELECT count(*) FROM \(table)")
    }
}
