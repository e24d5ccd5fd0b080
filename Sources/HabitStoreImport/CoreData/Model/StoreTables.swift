import HabitStore

/// The tables of a Core Data file: their columns as declared, and the entities' numbers.
struct StoreTables {
    /// A column as it was declared.
    struct Column {
        let name: String
        let declaredType: String
    }

    /// A row of `Z_PRIMARYKEY`.
    struct NumberedEntity {
        let number: Int
        let name: String
        /// The number of the entity that it inherits from; 0 for none.
        let superentity: Int
        /// The highest key that was ever given to a record.
        let highestKey: Int64
    }

    /// The tables by their names.
    let columns: [String: [Column]]
    /// The app's entities, by number; those of the history (16000 and up) are not among them.
    let entities: [NumberedEntity]
    /// The columns of each unique index or constraint, by table.
    let uniqueColumns: [String: [Set<String>]]

    private static let firstHistoryEntity = 16_000

    init(_ connection: SourceConnection) throws {
        var columns: [String: [Column]] = [:]
        var unique: [String: [Set<String>]] = [:]
        for table in try connection.texts("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
            let name = SourceConnection.quoted(table)
            let statement = try connection.prepare("PRAGMA table_info(\(name))")
            while try statement.step() {
                columns[table, default: []].append(
                    Column(name: statement.text(1) ?? "", declaredType: (statement.text(2) ?? "").uppercased())
                )
            }
            let indexes = try connection.prepare("PRAGMA index_list(\(name))")
            while try indexes.step() {
                guard indexes.optionalInt(2) == 1 else { continue }
                let index = SourceConnection.quoted(indexes.text(1) ?? "")
                let parts = try connection.prepare("PRAGMA index_info(\(index))")
                var names: Set<String> = []
                while try parts.step() { names.insert(parts.text(2) ?? "") }
                unique[table, default: []].append(names)
            }
        }
        self.columns = columns
        uniqueColumns = unique
        entities = columns["Z_PRIMARYKEY"] == nil ? [] : try Self.readEntities(connection)
    }

    private static func readEntities(_ connection: SourceConnection) throws -> [NumberedEntity] {
        let statement = try connection.prepare(
            "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME IS NOT NULL ORDER BY Z_ENT"
        )
        var result: [NumberedEntity] = []
        while try statement.step() {
            guard let number = statement.optionalInt(0), number > 0, number < firstHistoryEntity else { continue }
            result.append(
                NumberedEntity(
                    number: Int(number),
                    name: statement.text(1) ?? "",
                    superentity: Int(clamping: statement.optionalInt(2) ?? 0),
                    highestKey: statement.optionalInt(3) ?? 0
                )
            )
        }
        return result
    }

    /// The entities from an entity up to the topmost that it inherits from.
    func ancestry(of entity: NumberedEntity) -> [NumberedEntity] {
        var result = [entity]
        while let last = result.last, last.superentity != 0,
            let next = entities.first(where: { $0.number == last.superentity }),
            !result.contains(where: { $0.number == next.number })
        {
            result.append(next)
        }
        return result
    }

    /// The name of an entity's table as it is written in the file; nil when there is none.
    func table(of root: String) -> String? {
        let wanted = "Z" + root.uppercased()
        return columns[wanted] == nil ? columns.keys.first { $0.uppercased() == wanted } : wanted
    }

    /// Whether a table has a column.
    func has(_ column: String, in table: String) -> Bool { columns[table]?.contains { $0.name == column } == true }
}
