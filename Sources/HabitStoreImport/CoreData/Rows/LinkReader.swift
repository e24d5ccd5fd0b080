import HabitStore

/// Reads the links of single records, for a relationship with a link table.
final class LinkReader {
    private let statement: SourceStatement

    /// Nil if the relationship is stored elsewhere.
    init?(_ relationship: CoreDataRelationship, _ file: CoreDataFile) throws {
        guard case .table(let table, let here, let there) = relationship.storage else { return nil }
        let (left, right) = (SourceConnection.quoted(here), SourceConnection.quoted(there))
        let name = SourceConnection.quoted(table)
        let order = relationship.orderColumn.map(SourceConnection.quoted) ?? "NULL"
        var sql = "SELECT \(right), \(order) FROM \(name) WHERE \(left) = ?1 AND typeof(\(right)) = 'integer'"
        // A relationship that is its own inverse leads both ways, whichever direction is stored.
        if here == "REFLEXIVE" {
            sql += " UNION SELECT \(left), NULL FROM \(name) WHERE \(right) = ?1 AND typeof(\(left)) = 'integer'"
        }
        statement = try file.connection.prepare(sql + " ORDER BY 2, 1")
    }

    /// The keys that a record is linked to, in order if there is one.
    func keys(of key: Int64) throws -> [Int64] {
        statement.reset()
        try statement.bind(key, at: 1)
        var result: [Int64] = []
        while try statement.step() {
            if let target = statement.integer(0) { result.append(target) }
        }
        return result
    }
}
