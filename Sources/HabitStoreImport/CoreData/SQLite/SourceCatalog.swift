import HabitStore

/// The tables of another app's database, apart from those that only the app itself can read.
package struct SourceCatalog {
    /// A table that needs a module, a tokenizer or a function which only its app has.
    package struct Unreadable: Hashable {
        package let name: String
        /// Whether it is a virtual table: its module keeps what it has in other tables, which are read as any others.
        package let isVirtual: Bool
        /// SQLite's message, which names the missing module.
        let reason: String

        /// The table and what it lacks, for reports.
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

    /// The names of the tables that can be read, in their order.
    package private(set) var tables: [String] = []
    /// The others.
    package private(set) var unreadable: [Unreadable] = []

    /// Asks for a row of each table.
    ///
    /// - Throws: what reading a damaged database throws.
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
                // What SQLite says of rows that stand in the order of a collation which it lacks.
                let reason = error.detail == "no query solution" ? "no such collation sequence" : error.detail
                unreadable.append(Unreadable(name: name, isVirtual: isVirtual, reason: reason ?? error.message))
            }
        }
    }

    /// A module may refuse when it is asked for a row, and not before.
    private static func probe(_ name: String, _ isVirtual: Bool, _ connection: SourceConnection) throws {
        let table = SourceConnection.quoted(name)
        let row = try connection.prepare("SELECT * FROM \(table) LIMIT 1")
        guard isVirtual else { return }
        _ = try row.step()
        _ = try connection.int("SELECT count(*) FROM \(table)")
    }
}
