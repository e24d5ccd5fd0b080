import HabitStore

extension CoreDataFile {
    /// The number of an entity's records, without those of entities that inherit from it.
    public func count(of entity: CoreDataEntity) throws -> Int {
        let table = SourceConnection.quoted(entity.table)
        let hasKey = tables.hasKey(in: entity.table).map { " AND \($0)" } ?? ""
        return Int(try connection.int("SELECT count(*) FROM \(table) WHERE Z_ENT = \(entity.number)\(hasKey)") ?? 0)
    }

    /// Calls `body` with the entity's records after `key`, in the order of their keys, until it returns false. Subentities are not
    /// included.
    public func enumerate(
        _ entity: CoreDataEntity,
        after key: Int64 = .min,
        _ body: (CoreDataRow) throws -> Bool
    ) throws {
        try enumerate(entity, CoreDataRowReader(entity, in: self), after: key, body)
    }

    /// Calls `body` with the entity's records, as far as `reader` reads them.
    func enumerate(
        _ entity: CoreDataEntity,
        _ reader: CoreDataRowReader,
        after key: Int64 = .min,
        _ body: (CoreDataRow) throws -> Bool
    ) throws {
        let statement = try connection.prepare(reader.sql + " AND Z_PK > ?1 ORDER BY Z_PK")
        try statement.bind(key, at: 1)
        while try statement.step() {
            guard try body(reader.row(statement)) else { return }
        }
    }

    /// The record with a key; nil if the entity has none.
    public func row(_ entity: CoreDataEntity, key: Int64) throws -> CoreDataRow? {
        try row(entity, CoreDataRowReader(entity, in: self), key: key)
    }

    /// The record with a key, as far as `reader` reads it.
    func row(_ entity: CoreDataEntity, _ reader: CoreDataRowReader, key: Int64) throws -> CoreDataRow? {
        let statement = try connection.prepare(reader.sql + " AND Z_PK = ?1")
        try statement.bind(key, at: 1)
        return try statement.step() ? reader.row(statement) : nil
    }

    /// The entity number of the record with a key; nil if there is no record.
    func entityNumber(of key: Int64, in table: String) throws -> Int? {
        let statement = try connection.prepare("SELECT Z_ENT FROM \(SourceConnection.quoted(table)) WHERE Z_PK = ?1")
        try statement.bind(key, at: 1)
        return try statement.step() ? statement.optionalInt(0).map { Int($0) } : nil
    }

    /// Calls `body` with the links of a to-many relationship: the key on this side, the key on the other, and the position if there is an
    /// order. Sorted by the key on this side, then by position.
    public func enumerateLinks(
        _ relationship: CoreDataRelationship,
        of entity: CoreDataEntity,
        _ body: (_ here: Int64, _ there: Int64, _ order: Int64?) throws -> Void
    ) throws {
        guard let sql = linkQuery(relationship) else { return }
        let statement = try connection.prepare(sql)
        while try statement.step() {
            guard let here = statement.integer(0), let there = statement.integer(1) else { continue }
            try body(here, there, statement.integer(2))
        }
    }

    private func linkQuery(_ relationship: CoreDataRelationship) -> String? {
        let order = relationship.orderColumn.map(SourceConnection.quoted) ?? "NULL"
        switch relationship.storage {
        case .table(let table, let here, let there):
            let (left, right) = (SourceConnection.quoted(here), SourceConnection.quoted(there))
            let from = "FROM \(SourceConnection.quoted(table)) WHERE \(left) NOT NULL AND \(right) NOT NULL"
            let forth = "SELECT \(left) AS here, \(right) AS there, \(order) AS place \(from)"
            // A relationship that is its own inverse leads both ways, whichever direction is stored.
            guard here == "REFLEXIVE" else { return forth + " ORDER BY 1, 3, 2" }
            return forth + " UNION SELECT \(right), \(left), NULL \(from) ORDER BY 1, 3, 2"
        case .otherSide(let column):
            guard let destination = model.entity(relationship.destination) else { return nil }
            let numbers = model.family(of: destination.name).map { String($0.number) }.joined(separator: ", ")
            let name = SourceConnection.quoted(column)
            return "SELECT \(name), Z_PK, \(order) FROM \(SourceConnection.quoted(destination.table)) "
                + "WHERE \(name) NOT NULL AND Z_ENT IN (\(numbers)) ORDER BY 1, 3, 2"
        case .column, .missing: return nil
        }
    }
}
