import Foundation
@_spi(Engines) import HabitStore
import OrderedKeys
import Synchronization

/// The constant parts of an open store: the schema in the form of ordered keys, and the last known bookkeeping.
final class PostgresCatalog: Sendable {
    let schema: Schema
    let keys: KeyTables
    /// The store's identifier in every statement.
    let store: UUID
    /// The store's name, which its row repeats.
    let name: String
    /// The place for errors: the server and the store's name, without a password.
    let place: String
    let plans = KeyPlanCache()
    private let lastSeen = Mutex<PostgresBookkeeping?>(nil)

    init(schema: Schema, place: PostgresPlace) throws {
        self.schema = schema
        keys = try KeyTables(schema)
        (store, name, self.place) = (place.store, place.name, place.description)
    }

    /// The last known bookkeeping.
    var bookkeeping: PostgresBookkeeping? {
        get { lastSeen.withLock { $0 } }
        set { lastSeen.withLock { $0 = newValue } }
    }
}

/// A store's bookkeeping at one moment, and what a schema needs from it.
struct PostgresBookkeeping: Sendable {
    /// The version of the store at which the bookkeeping was last changed.
    let version: Int64
    /// All of the bookkeeping, including the engine's own.
    let metadata: [String: String]
    /// Whether its checksum matches the store's row.
    var isAsWritten = true
    let indexes: CompleteIndexes
    /// The numbers of the schema's entities; nil for those that the store lacks.
    let entities: [Int16?]
    /// The numbers of the schema's indexes; nil for those that the store lacks.
    let indexNumbers: [Int16?]

    init(version: Int64, metadata: [String: String], _ catalog: PostgresCatalog) throws {
        self.version = version
        self.metadata = metadata
        var list = metadata[KeyFormat.indexesKey]
        indexes =
            list?.withUTF8 { CompleteIndexes(UnsafeRawBufferPointer($0), catalog.keys) }
            ?? CompleteIndexes(nil, catalog.keys)
        entities = try catalog.keys.tables.map {
            try Self.number(PostgresNumbers.entity($0.name), metadata, catalog.place)
        }
        indexNumbers = try catalog.keys.indexes.map {
            try Self.number(PostgresNumbers.index($0.name), metadata, catalog.place)
        }
    }

    /// The metadata in a server's answer.
    static func metadata(_ answer: PostgresResult) throws -> [String: String] {
        var values: [String: String] = [:]
        for row in 0..<answer.count { values[try answer.text(row, 0)] = try answer.text(row, 1) }
        return values
    }

    private static func number(_ key: String, _ metadata: [String: String], _ place: String) throws -> Int16? {
        guard let text = metadata[key] else { return nil }
        guard let number = Int16(text), number >= 0 else {
            throw PostgresError.error(.corrupt, "the store's bookkeeping holds no number under \(key)", at: place)
        }
        return number
    }
}

/// The numbers that a store's rows use for its entities and indexes. A number is never reused for another one.
enum PostgresNumbers {
    private static let entityPrefix = "number.entity."
    private static let indexPrefix = "number.index."

    static func entity(_ name: String) -> String { entityPrefix + name }

    static func index(_ name: String) -> String { indexPrefix + name }

    /// The numbers that a schema needs and the store lacks.
    static func missing(_ keys: KeyTables, in metadata: [String: String]) -> [String: String] {
        fill(keys.tables.map { entity($0.name) }, entityPrefix, metadata)
            .merging(fill(keys.indexes.map { index($0.name) }, indexPrefix, metadata)) { first, _ in first }
    }

    private static func fill(
        _ wanted: [String],
        _ prefix: String,
        _ metadata: [String: String]
    ) -> [String: String] {
        var next = (metadata.filter { $0.key.hasPrefix(prefix) }.compactMap { Int($0.value) }.max() ?? -1) + 1
        var found: [String: String] = [:]
        for key in wanted where metadata[key] == nil {
            found[key] = String(next)
            next += 1
        }
        return found
    }
}
