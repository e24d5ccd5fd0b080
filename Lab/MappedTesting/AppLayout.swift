import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreMapped
@_spi(Engines) import HabitStoreTesting
import RawStoreFiles

/// Lays a schema out as an app would that was written with GRDB or by hand, and maps it.
package struct AppLayout: Sendable {
    /// How the app identifies rows.
    package enum Keys: String, CaseIterable, Sendable {
        /// `INTEGER PRIMARY KEY`.
        case numbers
        /// UUIDs as texts in small letters.
        case texts
    }

    package let keys: Keys

    package init(keys: Keys) { self.keys = keys }

    /// The tables.
    func sql(_ schema: Schema) -> String { schema.entities.map { tables(of: $0) }.joined() }

    private func quoted(_ name: String) -> String { "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\"" }

    private func table(_ entity: String) -> String { "app \(entity)" }

    private func linkTable(_ entity: EntityDescription, _ attribute: String) -> String {
        "app \(entity.name) \(attribute)"
    }

    private var keyType: String { keys == .numbers ? "INTEGER" : "TEXT" }

    private func reference(_ entity: EntityDescription, _ attribute: String) -> RelationshipDescription? {
        entity.relationships.first { if case .toOne(let stored) = $0.kind { stored == attribute } else { false } }
    }

    private func tables(of entity: EntityDescription) -> String {
        var columns = ["\"id\" \(keyType) PRIMARY KEY NOT NULL"]
        var links = ""
        for attribute in entity.attributes.dropFirst() {
            let type: String
            switch attribute.kind {
            case .bool: type = "BOOLEAN"
            case .int: type = "INTEGER"
            case .double: type = "DOUBLE"
            case .string, .strings: type = "TEXT"
            case .date: type = "DOUBLE"
            case .uuid: type = reference(entity, attribute.name) == nil ? "BLOB" : keyType
            case .data: type = "BLOB"
            case .links:
                links +=
                    "CREATE TABLE \(quoted(linkTable(entity, attribute.name))) (owner \(keyType) NOT NULL, target \(keyType) NOT NULL, "
                    + "PRIMARY KEY (owner, target));\n"
                continue
            }
            columns.append("\(quoted(attribute.name)) \(type)\(attribute.isOptional ? "" : " NOT NULL")")
        }
        return "CREATE TABLE \(quoted(table(entity.name))) (\(columns.joined(separator: ", ")));\n" + links
    }

    /// The mapping of the tables.
    func mapping(_ schema: Schema) -> TableMapping {
        TableMapping(namespace: "app", tables: schema.entities.map { mapping(of: $0) })
    }

    private func mapping(of entity: EntityDescription) -> TableMapping.Table {
        var mapped = TableMapping.Table(table(entity.name), entity: entity.name, key: ["id"])
        if keys == .texts { mapped.keyForm = .uuid(isLowercase: true) }
        for attribute in entity.attributes.dropFirst() {
            var form: StoredForm?
            switch attribute.kind {
            case .bool, .int, .double, .string: break
            case .strings: form = .json
            // The kit needs exact dates.
            case .date: form = .count(.seconds, since: .y2001)
            case .data: form = .bytes
            case .uuid:
                if let relationship = reference(entity, attribute.name) {
                    mapped.relationships[relationship.name] = TableMapping.Reference(columns: [attribute.name])
                    continue
                }
                form = .uuidBytes
            case .links:
                let relationship = entity.relationships.first { $0.kind == .manyToManyOwner(attribute: attribute.name) }
                mapped.links[relationship?.name ?? attribute.name] = TableMapping.Links(
                    table: linkTable(entity, attribute.name),
                    here: ["owner"],
                    there: ["target"],
                    leadsTo: relationship == nil ? table(entity.name) : nil
                )
                continue
            }
            mapped.attributes[attribute.name] = .column(attribute.name, form: form)
        }
        return mapped
    }

    /// The engine of users whose files the app lays out like this.
    package func provider(_ schema: Schema) -> MappedSQLiteProvider {
        MappedSQLiteProvider(mapping: mapping(schema), create: { try create($0, schema) })
    }

    private func create(_ path: String, _ schema: Schema) throws {
        let database = try RawDatabase(path: path)
        defer { database.close() }
        try database.execute("PRAGMA journal_mode = WAL")
        try database.execute(sql(schema))
    }

    /// A store of a kit: the app's file, made and adopted when it is opened first.
    package var subject: StoreUnderTest {
        StoreUnderTest(name: "mapped, keys are \(keys)", isDurable: true) { directory, schema, identity, clock in
            try schema.validate()
            let path = directory.appendingPathComponent("app.sqlite").path
            let mapping = mapping(schema)
            let options = MappedSQLiteStore.Options(identity: identity, now: clock)
            if !FileManager.default.fileExists(atPath: path) {
                try create(path, schema)
                try MappedSQLiteStore.adopt(path, mapping: mapping, schema: schema, options: options)
            }
            return try MappedSQLiteStore(path: path, mapping: mapping, schema: schema, options: options)
        }
    }
}
