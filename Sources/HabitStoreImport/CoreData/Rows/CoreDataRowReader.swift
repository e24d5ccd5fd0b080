import HabitStore

/// Reads the rows of one entity.
struct CoreDataRowReader {
    private let entity: CoreDataEntity
    private let places: [Int?]
    private let references: [(name: String, place: Int, entityPlace: Int?)]
    private let further: [(name: String, place: Int)]
    /// The columns of keys and numbers, and their indices.
    private let whole: [(property: String, column: String, place: Int)]
    private let external: ExternalData
    /// The query for the entity's rows, to which callers can append conditions.
    let sql: String

    /// - Parameter columns: additional columns to read numbers from.
    init(_ entity: CoreDataEntity, in file: CoreDataFile, columns furtherColumns: [String] = []) {
        self.entity = entity
        external = file.external
        var columns = ["Z_PK", "Z_OPT"]
        func place(_ column: String) -> Int {
            columns.append(SourceConnection.quoted(column))
            return columns.count - 1
        }
        places = entity.attributes.map { $0.column.map(place) }
        var whole: [(String, String, Int)] = []
        references = entity.relationships.compactMap { relationship in
            guard case .column(let column, let second) = relationship.storage else { return nil }
            let places = (place(column), second.map(place))
            whole.append((relationship.name, column, places.0))
            if let second, let place = places.1 { whole.append((relationship.name, second, place)) }
            return (relationship.name, places.0, places.1)
        }
        further = furtherColumns.map { ($0, place($0)) }
        let read = Set(whole.map(\.1))
        self.whole = whole + further.filter { !read.contains($0.name) }.map { ($0.name, $0.name, $0.place) }
        let table = SourceConnection.quoted(entity.table)
        let hasKey = file.tables.hasKey(in: entity.table).map { " AND \($0)" } ?? ""
        sql = "SELECT \(columns.joined(separator: ", ")) FROM \(table) WHERE Z_ENT = \(entity.number)\(hasKey)"
    }

    func row(_ statement: SourceStatement) -> CoreDataRow {
        var found: [String: CoreDataReference] = [:]
        for (name, place, entityPlace) in references {
            guard let key = statement.integer(place) else { continue }
            let number = entityPlace.flatMap { statement.integer($0) }.map { Int(clamping: $0) }
            found[name] = CoreDataReference(key: key, entityNumber: number)
        }
        var numbers: [String: Int64] = [:]
        for (name, place) in further { numbers[name] = statement.integer(place) }
        let misplaced = whole.compactMap { property, column, place -> CoreDataRow.Misplaced? in
            guard statement.integer(place) == nil else { return nil }
            let value = statement.value(place)
            return value.isNull ? nil : CoreDataRow.Misplaced(property: property, column: column, value: value)
        }
        return CoreDataRow(
            key: statement.optionalInt(0) ?? 0,
            saves: statement.optionalInt(1),
            values: zip(entity.attributes, places).map { attribute, place in
                guard let place else { return CoreDataValue(.null) }
                return ValueDecoder.decode(statement.value(place), as: attribute, external)
            },
            references: found,
            numbers: numbers,
            misplaced: misplaced
        )
    }
}
