import HabitStore

/// Reads the rows of one entity.
struct CoreDataRowReader {
    private let entity: CoreDataEntity
    private let places: [Int?]
    private let references: [(name: String, place: Int, entityPlace: Int?)]
    private let further: [(name: String, place: Int)]
    private let external: ExternalData
    /// The query for the entity's rows, to which conditions can be added.
    let sql: String

    /// - Parameter columns: further columns whose numbers are wanted.
    init(_ entity: CoreDataEntity, in file: CoreDataFile, columns furtherColumns: [String] = []) {
        self.entity = entity
        external = file.external
        var columns = ["Z_PK", "Z_OPT"]
        func place(_ column: String) -> Int {
            columns.append(SourceConnection.quoted(column))
            return columns.count - 1
        }
        places = entity.attributes.map { $0.column.map(place) }
        references = entity.relationships.compactMap { relationship in
            guard case .column(let column, let second) = relationship.storage else { return nil }
            return (relationship.name, place(column), second.map(place))
        }
        further = furtherColumns.map { ($0, place($0)) }
        let table = SourceConnection.quoted(entity.table)
        sql = "SELECT \(columns.joined(separator: ", ")) FROM \(table) WHERE Z_ENT = \(entity.number)"
    }

    func row(_ statement: SourceStatement) -> CoreDataRow {
        var found: [String: CoreDataReference] = [:]
        for (name, place, entityPlace) in references {
            guard let key = statement.optionalInt(place) else { continue }
            let number = entityPlace.flatMap { statement.optionalInt($0) }.map { Int($0) }
            found[name] = CoreDataReference(key: key, entityNumber: number)
        }
        var numbers: [String: Int64] = [:]
        for (name, place) in further { numbers[name] = statement.optionalInt(place) }
        return CoreDataRow(
            key: statement.optionalInt(0) ?? 0,
            saves: statement.optionalInt(1),
            values: zip(entity.attributes, places).map { attribute, place in
                guard let place else { return CoreDataValue(.null) }
                return ValueDecoder.decode(statement.value(place), as: attribute, external)
            },
            references: found,
            numbers: numbers
        )
    }
}
