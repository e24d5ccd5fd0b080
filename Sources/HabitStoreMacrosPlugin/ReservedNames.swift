/// Names that models cannot have: those that `ModelNames` in `HabitStore` has, as far as they can be written in a declaration, so that
/// the compiler says it; and what the macro needs for itself.
enum ReservedNames {
    /// Of entities, upper and lower case being different: databases of LMDB's files.
    private static let databases: Set<String> = ["metadata", "history", "digests"]
    /// Of entities, in any case: tables of SQLite's files.
    private static let tables: Set<String> = [
        "habitstore_metadata", "history_transaction", "history_change", "habitstore_digest",
    ]
    /// What names of entities must not begin with, in any case: SQLite's own tables.
    private static let tablePrefix = "sqlite_"
    /// Of attributes and relationships: members that the model's protocol and the macro need.
    private static let members: Set<String> = ["entity", "hashValue"]

    /// Whether no entity can have the name.
    static func forbids(entity name: String) -> Bool {
        databases.contains(name) || tables.contains(name.lowercased()) || name.lowercased().hasPrefix(tablePrefix)
    }

    /// Whether no attribute or relationship can have the name. What begins with an underscore may be something that the macro makes.
    static func forbids(member name: String) -> Bool { members.contains(name) || name.hasPrefix("_") }
}
