/// The declaration of a table or an index, however it is formatted.
///
/// Accepts only what versions of this project have written. A collation, a default, a constraint, an expression, a condition or a
/// comment makes a declaration that no store has, and parsing it gives nil.
enum SQLiteDefinition: Equatable {
    case table(Table)
    case index(Index)

    struct Column: Equatable {
        let name: String
        let type: String
        var isNotNull: Bool
    }

    struct Table: Equatable {
        let name: String
        var columns: [Column]
        var primaryKey: [String]
        var isStrict = false
        var isWithoutRowID = false
    }

    struct Index: Equatable {
        let name: String
        let table: String
        let columns: [String]
    }

    /// - Returns: nil for a declaration that no store has.
    init?(_ sql: some Collection<UInt8>) {
        guard var reader = SQLiteDefinitionReader(sql), let definition = reader.definition() else { return nil }
        self = definition
    }

    var name: String {
        switch self {
        case .table(let table): table.name
        case .index(let index): index.name
        }
    }

    /// The table itself, or the one that the index is on.
    var table: String {
        switch self {
        case .table(let table): table.name
        case .index(let index): index.table
        }
    }
}
