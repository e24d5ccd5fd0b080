/// The allowed names of entities, attributes and relationships: one list for all engines, the filter language, and everything that
/// makes models.
///
/// A name that any engine reserves, cannot write or would confuse with another is rejected on every engine when the schema is made:
/// a user must be movable from a store on one engine to every other. Words of the filter language (`count`, `in`, `true`) are
/// allowed, because filters can write them in backquotes.
package enum ModelNames {
    /// The most UTF-8 bytes of a name: with the suffix that LMDB adds to an entity's name, its longest key of 511.
    package static let longest = 494
    /// The most bytes of an index's name, `Entity.first+second`, which is a key of LMDB's.
    package static let longestIndex = 511
    /// The names, upper and lower case being different, that LMDB's files have for other things.
    package static let databases: Set<String> = ["metadata", "history", "digests"]
    /// The names, in any case, that SQLite's files have for other things.
    package static let tables: Set<String> = [
        "habitstore_metadata", "history_transaction", "history_change", "habitstore_digest",
    ]
    /// What SQLite's own tables begin with, in any case.
    static let tablePrefix = "sqlite_"
    /// The suffix of the name of an index that holds copies of records.
    static let clusteringMark = " (clustering)"

    /// What keeps a name from being that of an entity; nil when nothing does.
    package static func problem(ofEntity name: String) -> String? {
        if let problem = problem(of: name) { return problem }
        let isTaken = databases.contains(name) || tables.contains(name.lowercased())
        return isTaken || name.lowercased().hasPrefix(tablePrefix) ? "is a name that stores keep for themselves" : nil
    }

    /// What keeps a name from being that of an attribute or a relationship; nil when nothing does.
    package static func problem(of name: String) -> String? {
        if name.isEmpty { return "is empty" }
        if name.utf8.count > longest { return "has more than \(longest) bytes" }
        if name.contains("`") { return "has a backquote, which no filter can write" }
        if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            return "has a control character"
        }
        return nil
    }

    /// The tables and indexes that SQLite makes of an entity, which must differ from those of all others in more than case.
    static func tables(of entity: EntityDescription) -> [String] {
        let links = entity.attributes.filter { $0.kind == .links }.map { "\(entity.name)_\($0.name)" }
        let columns = entity.indexes.filter { index in
            !index.attributes.contains { name in entity.attributes.contains { $0.name == name && $0.kind == .links } }
        }
        return [entity.name] + columns.map { "\(entity.name)_by_\($0.attributes.joined(separator: "_"))" }
            + links.flatMap { [$0, $0 + "_by_target"] }
    }

    /// The databases that LMDB makes of an entity, and the numbers that PostgreSQL's rows have for them.
    static func databases(of entity: EntityDescription) -> [String] {
        [entity.name] + entity.indexes.map { "\(entity.name).\($0.attributes.joined(separator: "+"))" }
    }
}
