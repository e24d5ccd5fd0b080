import HabitStoreImport

extension TrackerSource {
    /// Creates a source from a database, with the oddities of its files.
    init(_ format: TrackerFormat, _ database: SourceDatabase) {
        self.init(format, path: database.path)
        note(database.oddities)
    }

    /// Keeps all rows of the tables that are not imported, and counts the rows of every table.
    mutating func keepTables(of database: SourceDatabase, except imported: Set<String>, derived: Set<String> = [])
        throws
    {
        for table in database.tableNames {
            counts.append((table, try database.count(table)))
            guard !imported.contains(table.lowercased()) else { continue }
            let what =
                derived.contains(table.lowercased()) ? "\(table): computed by the app" : "\(table): no place here"
            try database.forEachRow(table) { keep(what, $0.json) }
        }
    }
}
