/// A record of a Core Data file.
public struct CoreDataRow: Sendable {
    /// The key within its table (`Z_PK`). It is only valid in this file: migrations by the app assign new ones.
    public let key: Int64
    /// The number of times the record was saved (`Z_OPT`), which is not the app's data.
    public let saves: Int64?
    /// The values, in the order of the entity's attributes.
    public let values: [CoreDataValue]
    /// The targets of the to-one relationships, by name.
    public let references: [String: CoreDataReference]
    /// The numbers in additional columns that were requested.
    var numbers: [String: Int64] = [:]
    /// Values in columns of keys or numbers that are not integers.
    var misplaced: [Misplaced] = []

    /// A value that is not an integer, in a column that should only have integers.
    struct Misplaced: Sendable {
        /// The relationship, or the column if there is none.
        let property: String
        let column: String
        let value: SourceValue
    }
}
