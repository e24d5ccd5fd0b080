/// An attribute or a to-one relationship that needs a column of its table.
struct ColumnClaim {
    /// The entity that declares it.
    let entity: String
    /// Its name.
    let property: String
    /// The column's name if nothing else had the same.
    let base: String
    /// The column's declared type; nil for any.
    let columnType: String?
    /// The numbers of the entities whose records may have a value.
    let numbers: [Int]
    /// Whether these must have one.
    let isRequired: Bool
    /// Whether the values are UUIDs.
    let isUUID: Bool
    /// Whether it alone is declared to be unique.
    let isUnique: Bool
}
