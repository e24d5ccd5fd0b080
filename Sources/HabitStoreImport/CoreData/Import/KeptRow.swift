import HabitStore

/// A source row without a counterpart in the target: a link, or a row that belongs to no entity.
struct KeptRow: Encodable {
    let table: String
    /// The key, if the table has one.
    var key: Int64?
    let reason: String
    /// The values by column, without nulls.
    let columns: [String: StoredJSON]

    /// The links that lead from a record to others, from all tables.
    static func links(of key: Int64, _ entity: CoreDataEntity, _ file: CoreDataFile) throws -> [KeptRow] {
        var result: [KeptRow] = []
        for relationship in entity.relationships {
            guard case .table(let table, let here, let there) = relationship.storage else { continue }
            let (name, left) = (SourceConnection.quoted(table), SourceConnection.quoted(here))
            let right = here == "REFLEXIVE" ? " OR \(SourceConnection.quoted(there)) = ?1" : ""
            let rows = try file.connection.prepare("SELECT * FROM \(name) WHERE \(left) = ?1\(right)")
            try rows.bind(key, at: 1)
            while try rows.step() {
                result.append(KeptRow(table, rows, "a link of a record that was not brought over"))
            }
        }
        return result
    }

    /// The current row of a statement.
    init(_ table: String, _ statement: SourceStatement, _ reason: String) {
        self.table = table
        self.reason = reason
        var columns: [String: StoredJSON] = [:]
        for place in 0..<statement.columnCount {
            let value = statement.value(place)
            let name = statement.columnName(place)
            if name == "Z_PK", case .int(let number) = value { key = number }
            if !value.isNull { columns[name] = StoredJSON(value) }
        }
        self.columns = columns
    }

    init(_ table: String, _ columns: [String: Int64], _ reason: String) {
        self.table = table
        self.reason = reason
        self.columns = columns.mapValues { StoredJSON(SourceValue.int($0)) }
    }
}
