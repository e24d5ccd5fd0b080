import Foundation
import HabitStoreRollout
import HabitTracker
import RawStoreFiles
import StandardEngines

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreSQLite

/// Plants faults in a SQLite file by SQL.
struct SQLitePlanter: CopyPlanter {
    let path: String
    private let schema = HabitSchema.current

    init(path: String) { self.path = path }

    var address: StoreAddress { StoreAddress(.sqlite, path: path) }

    func change(_ entity: String, _ changes: [UUID: [String: Value]]) throws {
        let shell = try RawDatabase(path: path)
        try shell.run("BEGIN")
        for (id, values) in changes { try change(shell, entity, id, values) }
        try shell.run("COMMIT")
    }

    private func change(_ shell: RawDatabase, _ entity: String, _ id: UUID, _ values: [String: Value]) throws {
        for (attribute, value) in values {
            if case .links(let targets) = value {
                try setLinks(shell, entity, attribute, of: id, targets)
            } else {
                try shell.run(
                    "UPDATE \"\(entity)\" SET \"\(attribute)\" = ?1 WHERE id = ?2",
                    [Self.column(value), .uuid(id)]
                )
                try requireChange(shell)
            }
        }
    }

    func insert(_ entity: String, _ values: [Value]) throws {
        let shell = try RawDatabase(path: path)
        let attributes = try schema.entity(entity).attributes
        let columns = zip(attributes, values).filter { $0.0.kind != .links }
        let names = columns.map { "\"\($0.0.name)\"" }.joined(separator: ", ")
        let places = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        try shell.run("INSERT INTO \"\(entity)\" (\(names)) VALUES (\(places))", columns.map { Self.column($0.1) })
        guard case .uuid(let id)? = values.first else { return }
        for case (let attribute, .links(let targets)) in zip(attributes, values) {
            try setLinks(shell, entity, attribute.name, of: id, targets)
        }
    }

    /// A value as its column has it.
    private static func column(_ value: Value) -> Value {
        if case .strings(let texts) = value { .string(SQLiteTextList.encode(texts)) } else { value }
    }

    func remove(_ entity: String, _ id: UUID) throws {
        let shell = try RawDatabase(path: path)
        for attribute in try schema.entity(entity).attributes
        where attribute.kind == .links {
            try setLinks(shell, entity, attribute.name, of: id, [])
        }
        try shell.run("DELETE FROM \"\(entity)\" WHERE id = ?1", [.uuid(id)])
        try requireChange(shell)
    }

    func damage(_ entity: String, _ id: UUID, _ attribute: String) throws {
        let shell = try RawDatabase(path: path)
        let damaged = "CAST(CAST(\"\(attribute)\" AS BLOB) || x'c3' AS TEXT)"
        try shell.run("UPDATE \"\(entity)\" SET \"\(attribute)\" = \(damaged) WHERE id = ?1", [.uuid(id)])
        try requireChange(shell)
    }

    private func setLinks(
        _ shell: RawDatabase,
        _ entity: String,
        _ attribute: String,
        of owner: UUID,
        _ targets: [UUID]
    ) throws {
        try shell.run("DELETE FROM \"\(entity)_\(attribute)\" WHERE owner = ?1", [.uuid(owner)])
        for target in targets {
            let sql = "INSERT INTO \"\(entity)_\(attribute)\" (owner, target) VALUES (?1, ?2)"
            try shell.run(sql, [.uuid(owner), .uuid(target)])
        }
    }

    private func requireChange(_ shell: RawDatabase) throws {
        guard shell.changes == 1 else {
            throw HabitStoreError(
                .notFound,
                "the record that a fault is planted in is not there",
                at: .init(path: path)
            )
        }
    }

    // MARK: Indexes

    func dropIndexEntries(_ entity: String, _ attributes: [String], of id: UUID) throws {
        let index = name(entity, attributes)
        let column = isOverLinks(entity, attributes) ? "owner" : "id"
        try withoutUpkeep(of: index, where: "\(column) <> \(literal(id))") { try $0.run("REINDEX \"\(index)\"") }
    }

    func addIndexEntries(_ entity: String, _ attributes: [String], of values: [Value]) throws {
        guard case .uuid(let id)? = values.first else { return }
        let index = name(entity, attributes)
        guard isOverLinks(entity, attributes) else {
            try insert(entity, values)
            return try withoutUpkeep(of: index, where: "id <> \(literal(id))") { shell in
                try shell.run("DELETE FROM \"\(entity)\" WHERE id = ?1", [.uuid(id)])
            }
        }
        let table = "\(entity)_\(attributes[0])"
        for case .links(let targets) in values {
            for target in targets {
                let parameters = [Value.uuid(id), .uuid(target)]
                try RawDatabase(path: path).run("INSERT INTO \"\(table)\" (owner, target) VALUES (?1, ?2)", parameters)
                let others = "NOT (owner = \(literal(id)) AND target = \(literal(target)))"
                try withoutUpkeep(of: index, where: others) { shell in
                    try shell.run("DELETE FROM \"\(table)\" WHERE owner = ?1 AND target = ?2", parameters)
                }
            }
        }
    }

    func changeCopy(_ entity: String, _ values: [Value], _ attribute: String, _ value: Value) throws {
        let position = try schema.position(ofAttribute: attribute, in: entity)
        guard case .uuid(let id)? = values.first,
            let index = try schema.entity(entity).indexes.first(where: \.isClustering)
        else { return }
        let update = "UPDATE \"\(entity)\" SET \"\(attribute)\" = ?1 WHERE id = ?2"
        try RawDatabase(path: path).run(update, [value, .uuid(id)])
        try withoutUpkeep(of: name(entity, index.attributes), where: "id <> \(literal(id))") { shell in
            try shell.run(update, [values[position], .uuid(id)])
        }
    }

    func swapIndexEntries(_ entity: String, _ attribute: String, of first: [Value], and second: [Value]) throws {
        let position = try schema.position(ofAttribute: attribute, in: entity)
        guard case (.uuid(let one), .uuid(let other)) = (first[0], second[0]) else { return }
        let update = "UPDATE \"\(entity)\" SET \"\(attribute)\" = ?1 WHERE id = ?2"
        let shell = try RawDatabase(path: path)
        try shell.run(update, [second[position], .uuid(one)])
        try shell.run(update, [first[position], .uuid(other)])
        let others = "id NOT IN (\(literal(one)), \(literal(other)))"
        try withoutUpkeep(of: name(entity, [attribute]), where: others) { shell in
            try shell.run(update, [first[position], .uuid(one)])
            try shell.run(update, [second[position], .uuid(other)])
        }
    }

    /// Runs `body` while the index is declared as partial, so that SQLite does not update the entries of the other rows.
    private func withoutUpkeep(of index: String, where condition: String, _ body: (RawDatabase) throws -> Void) throws {
        let definition = try RawDatabase(path: path).run(
            "SELECT sql FROM sqlite_schema WHERE name = ?1",
            [.string(index)]
        )
        guard let definition = definition.first else {
            throw HabitStoreError(.notFound, "there is no index \(index)", at: .init(path: path))
        }
        try define(index, "\(definition) WHERE \(condition)")
        try body(try RawDatabase(path: path))
        try define(index, definition)
    }

    private func define(_ index: String, _ definition: String) throws {
        let shell = try RawDatabase(path: path)
        try shell.run("PRAGMA writable_schema = ON")
        try shell.run(
            "UPDATE sqlite_schema SET sql = ?1 WHERE name = ?2",
            [.string(definition), .string(index)]
        )
        try requireChange(shell)
    }

    private func isOverLinks(_ entity: String, _ attributes: [String]) -> Bool {
        schema.entities.contains { description in
            description.name == entity
                && description.attributes.contains { $0.kind == .links && attributes.contains($0.name) }
        }
    }

    private func name(_ entity: String, _ attributes: [String]) -> String {
        isOverLinks(entity, attributes)
            ? "\(entity)_\(attributes[0])_by_target" : "\(entity)_by_\(attributes.joined(separator: "_"))"
    }

    private func literal(_ id: UUID) -> String { "x'\(id.uuidString.replacingOccurrences(of: "-", with: ""))'" }

    // MARK: History and bookkeeping

    func replaceHistory(_ token: HistoryToken, with transaction: HistoryTransaction?) throws {
        let shell = try RawDatabase(path: path)
        for table in ["history_change", "history_transaction"] {
            try shell.run("DELETE FROM \(table) WHERE token = ?1", [.int(token.rawValue)])
        }
        try requireChange(shell)
        guard let transaction else { return }
        let number = Value.int(transaction.token.rawValue)
        try shell.run(
            "INSERT INTO history_transaction (token, timestamp, author) VALUES (?1, ?2, ?3)",
            [number, .date(transaction.timestamp), transaction.author.map(Value.string) ?? .null]
        )
        for (sequence, change) in zip(Int64(1)..., transaction.changes) {
            let (kind, attributes, tombstone): (String, Value, Value) =
                switch change.kind {
                case .insert: ("insert", .null, .null)
                case .update(let names): ("update", Self.column(.strings(names)), .null)
                case .delete(let values): ("delete", .null, .string(try Self.json(values)))
                }
            try shell.run(
                "INSERT INTO history_change VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                [
                    number, .int(sequence), .string(change.entity), .uuid(change.id), .string(kind), attributes,
                    tombstone,
                ]
            )
        }
    }

    private static func json(_ values: [String: Value]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(values), as: UTF8.self)
    }

    func setBookkeeping(_ key: String, _ value: String) throws {
        try RawDatabase(path: path).run(
            "INSERT INTO habitstore_metadata VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [.string(key), .string(value)]
        )
    }

    func changeDigest(_ entity: String, count: Int64, sum bit: UInt8) throws {
        let shell = try RawDatabase(path: path)
        let sums = try shell.run("SELECT hex(sum) FROM habitstore_digest WHERE entity = ?1", [.string(entity)])
        guard let first = sums.first?.prefix(2), let byte = UInt8(first, radix: 16), sums.count == 1 else {
            throw HabitStoreError(.notFound, "there is not one digest of \(entity)", at: .init(path: path))
        }
        try shell.run(
            """
            UPDATE habitstore_digest SET count = count + ?1, sum = CAST(?2 || substr(sum, 2) AS BLOB) WHERE entity = ?3
            """,
            [.int(count), .data(Data([byte ^ bit])), .string(entity)]
        )
        try requireChange(shell)
    }
}
