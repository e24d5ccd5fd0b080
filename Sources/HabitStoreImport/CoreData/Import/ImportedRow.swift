import Foundation

/// A whole record in the attachment, for which the target has no entity.
struct ImportedRow: Encodable {
    let entity: String
    let key: Int64
    let id: UUID
    let reason: String
    let values: [String: StoredJSON]
    let references: [String: Int64]
    /// The table, and the columns of the values above by property name.
    let table: String
    let columns: [String: String]

    init(_ row: CoreDataRow, of entity: CoreDataEntity, id: UUID, reason: String) {
        self.entity = entity.name
        key = row.key
        self.id = id
        self.reason = reason
        var values: [String: StoredJSON] = [:]
        for (attribute, value) in zip(entity.attributes, row.values) where !value.value.isNull || value.stored != nil {
            values[attribute.name] = value.stored.map { StoredJSON($0) } ?? StoredJSON(value.value)
        }
        references = row.references.mapValues(\.key)
        table = entity.table
        let names = Array(values.keys) + Array(row.references.keys)
        var columns = Dictionary(
            names.compactMap { name in entity.column(of: name).map { (name, $0) } },
            uniquingKeysWith: { first, _ in first }
        )
        for found in row.misplaced {
            values[found.column] = StoredJSON(found.value)
            columns[found.column] = found.column
        }
        self.values = values
        self.columns = columns
    }
}
