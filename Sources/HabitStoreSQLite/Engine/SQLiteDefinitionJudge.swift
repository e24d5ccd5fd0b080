@_spi(Engines) import HabitStore

/// Describes what is wrong with a file whose declarations are not those of a store.
struct SQLiteDefinitionJudge {
    private let items: [SQLiteSchemaListing.Item]
    private let path: String

    init(_ items: [SQLiteSchemaListing.Item], path: String) {
        self.items = items
        self.path = path
    }

    /// The tables and indexes by their names.
    ///
    /// - Parameter allowed: the SQL of tables that are not part of a store but may be in the file.
    /// - Throws: for a view, a trigger or a virtual table, and for a table or an index with a declaration that no store has.
    func definitions(besides allowed: [String]) throws -> [String: SQLiteDefinition] {
        var definitions: [String: SQLiteDefinition] = [:]
        for item in items {
            if item.kind == "table", item.table == item.name, allowed.contains(item.text) { continue }
            guard let definition = item.definition, definition.kind == item.kind, definition.name == item.name,
                definition.table == item.table, definitions.updateValue(definition, forKey: item.name) == nil
            else { throw otherwise(item.name, entity: nil) }
        }
        return definitions
    }

    /// Throws if a table is missing or declared differently.
    func require(_ table: SQLiteDefinition.Table, entity: String?) throws {
        guard let item = items.first(where: { $0.name == table.name }), case .table(let found)? = item.definition,
            Set(found.columns.map(\.name)).isSuperset(of: table.columns.map(\.name))
        else {
            throw HabitStoreError.damage(
                "the table \(table.name), or a column of it, is missing from the store; restore a backup",
                at: .init(path: path, entity: entity)
            )
        }
        guard found == table else { throw otherwise(table.name, entity: entity) }
    }

    /// The error for a table or index with a declaration that no store has.
    func otherwise(_ name: String, entity: String?) -> HabitStoreError {
        guard let item = items.first(where: { $0.name == name }), ["table", "index"].contains(item.kind) else {
            return foreign(name)
        }
        let advice = item.kind == "index" ? "drop it with the sqlite3 shell, or restore a backup" : "restore a backup"
        return HabitStoreError.damage(
            "the \(item.kind) \(Self.shown(name)) is not declared as a store's is, so that what is read and written through "
                + "it could be something else; \(advice)",
            at: .init(path: path, entity: entity)
        )
    }

    /// The error for an object that is not part of a store.
    func foreign(_ name: String) -> HabitStoreError {
        let kind = items.first { $0.name == name }.map(\.kind) ?? ""
        let word = ["table", "index", "view", "trigger"].contains(kind) ? kind : "thing"
        return HabitStoreError.damage(
            "the file has an extra \(word), \(Self.shown(name)), which is not part of a store; drop it with the sqlite3 "
                + "shell, or restore a backup",
            at: .init(path: path)
        )
    }

    /// A name from the file, which may be arbitrary text.
    private static func shown(_ name: String) -> String {
        let scalars = name.unicodeScalars
        let isPlain =
            scalars.count <= 64 && scalars.allSatisfy { $0.isASCII && $0.properties.generalCategory != .control }
        return isPlain ? name : "(a name that cannot be shown)"
    }
}

extension SQLiteDefinition {
    /// The value of `type` in `sqlite_schema`.
    fileprivate var kind: String {
        switch self {
        case .table: "table"
        case .index: "index"
        }
    }
}
