/// A record of a Core Data file.
public struct CoreDataRow: Sendable {
    /// The key within its table (`Z_PK`). It belongs to this file: a migration by the app gives out new ones.
    public let key: Int64
    /// How often the record was saved (`Z_OPT`); no data of the app.
    public let saves: Int64?
    /// The values, in the order of the entity's attributes.
    public let values: [CoreDataValue]
    /// The targets of the entity's to-one relationships, by their names.
    public let references: [String: CoreDataReference]
    /// The numbers in further columns that were asked for.
    var numbers: [String: Int64] = [:]
    /// What stands where a key or a number should be, and is none.
    var misplaced: [Misplaced] = []

    /// A value that is no whole number, in a column that has nothing else.
    struct Misplaced: Sendable {
        /// The relationship, or the column where there is none.
        let property: String
        let column: String
        let value: SourceValue
    }
}
