/// Names that models cannot have, since stores need them for themselves or since the macro makes something of that name.
enum ReservedNames {
    /// Of entities, in lower case: tables of the stores' own.
    private static let entities: Set<String> = ["history", "history_change", "history_transaction"]
    /// What names of entities must not begin with, in lower case: SQLite's tables and the stores' own.
    private static let entityPrefixes = ["sqlite_", "habitstore_"]
    /// Of attributes and relationships, in lower case: members that the model's protocol or the macro needs.
    private static let members: Set<String> = ["entity", "hashvalue"]
    /// What names of attributes and relationships must not begin with.
    private static let memberPrefixes = ["_"]

    /// Whether no entity can have the name.
    static func forbids(entity: String) -> Bool {
        let name = entity.lowercased()
        return entities.contains(name) || entityPrefixes.contains { name.hasPrefix($0) }
    }

    /// Whether no attribute or relationship can have the name.
    static func forbids(member: String) -> Bool {
        members.contains(member.lowercased()) || memberPrefixes.contains { member.hasPrefix($0) }
    }
}
