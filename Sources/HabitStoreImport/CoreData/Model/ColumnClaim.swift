/// An attribute or a to-one relationship that needs a column in its table.
struct ColumnClaim {
    /// The entity that declares the property.
    let entity: String
    let property: String
    /// The column's name, without the number that Core Data adds to resolve a conflict.
    let base: String
    /// The declared type of the column; nil for any.
    let columnType: String?
    /// The numbers of the entities whose records may have a value.
    let numbers: [Int]
    /// Whether the records of these entities must have a value.
    let isRequired: Bool
    /// Whether the values are UUIDs.
    let isUUID: Bool
    /// Whether the property alone is declared unique.
    let isUnique: Bool
}
