import Foundation
@_spi(Engines) import HabitStore
import OrderedKeys
import Synchronization

/// The tables of all stores on a server. The article *On-disk formats* describes their contents.
enum PostgresTables {
    /// The version of the tables' contents that is written, and the highest that can be read.
    static let format: Int16 = 1

    /// The definition of a table.
    struct Table {
        let name: String
        /// The columns with the server's names of their types, starting with those of the key. None may be null.
        let columns: [(name: String, type: String)]
        /// The number of columns in the key.
        let keyLength: Int
        /// Whether each write changes rows: these tables leave room on their pages, so that a change need not update the table's
        /// index.
        var isRewritten = false

        /// The columns of the key.
        var key: [String] { columns.prefix(keyLength).map(\.name) }

        fileprivate var definition: String {
            let columns = columns.map { "\($0.name) \($0.type) NOT NULL" }.joined(separator: ", ")
            return "CREATE TABLE IF NOT EXISTS \(name) (\(columns), PRIMARY KEY (\(key.joined(separator: ", "))))"
                + (isRewritten ? " WITH (fillfactor = 50)" : "")
        }
    }

    static let all = [
        Table(
            name: "hs_store",
            columns: [
                ("store", "uuid"), ("format", "smallint"), ("name", "text"), ("version", "bigint"), ("meta", "bigint"),
                ("last_writes", "bytea"), ("token", "bigint"), ("digests", "bytea"), ("meta_sum", "bytea"),
            ],
            keyLength: 1,
            isRewritten: true
        ),
        Table(name: "hs_meta", columns: [("store", "uuid"), ("key", "text"), ("value", "text")], keyLength: 2),
        Table(
            name: "hs_record",
            columns: [("store", "uuid"), ("entity", "smallint"), ("id", "uuid"), ("body", "bytea")],
            keyLength: 3
        ),
        Table(
            name: "hs_index",
            columns: [("store", "uuid"), ("number", "smallint"), ("key", "bytea"), ("id", "uuid")],
            keyLength: 3
        ),
        Table(
            name: "hs_history",
            columns: [("store", "uuid"), ("token", "bigint"), ("sequence", "integer"), ("body", "bytea")],
            keyLength: 3
        ),
        Table(
            name: "hs_digest",
            columns: [("store", "uuid"), ("entity", "smallint"), ("first", "uuid"), ("body", "bytea")],
            keyLength: 3,
            isRewritten: true
        ),
        Table(
            name: "hs_evidence",
            columns: [("store", "uuid"), ("number", "bigint"), ("line", "bytea")],
            keyLength: 2
        ),
    ]

    /// Creates the missing tables, each in a separate transaction, because not every product can create several in one.
    static let statements = all.enumerated().map {
        PostgresStatement(name: "hs_table_\($0)", text: $1.definition)
    }
}

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

/// The totals of a store's other rows, stored in its own row: nothing else reveals that rows are missing.
enum PostgresTotals {
    /// The length of an entity's digest: its number (2 bytes), the number of its records (8) and their sum (16), big-endian.
    private static let length = 26

    /// Encodes the digests of the entities, in the order of their numbers.
    static func bytes(_ digests: [Int16: RecordDigest]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digests.count * length)
        for (entity, digest) in digests.sorted(by: { $0.key < $1.key }) {
            append(entity, &bytes)
            append(digest.count, &bytes)
            append(digest.high, &bytes)
            append(digest.low, &bytes)
        }
        return bytes
    }

    /// Decodes the digests of the entities.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for malformed bytes.
    static func digests(_ bytes: [UInt8], place: String) throws -> [Int16: RecordDigest] {
        guard bytes.count.isMultiple(of: length) else {
            throw HabitStoreError.damage(
                "the digests in the store's row are none; restore a backup",
                at: .init(path: place)
            )
        }
        return bytes.withUnsafeBytes { bytes in
            var digests: [Int16: RecordDigest] = [:]
            for start in stride(from: 0, to: bytes.count, by: length) {
                func number<Number: FixedWidthInteger>(_ offset: Int) -> Number {
                    Number(bigEndian: bytes.loadUnaligned(fromByteOffset: start + offset, as: Number.self))
                }
                digests[number(0)] = RecordDigest(count: number(2), low: number(18), high: number(10))
            }
            return digests
        }
    }

    /// The checksum of the metadata: the sum of the hashes of its values, each after its key and a NUL.
    static func sum(of metadata: [String: String]) -> [UInt8] {
        var digest = RecordDigest()
        for (key, value) in metadata {
            Array("\(key)\0\(value)".utf8).withUnsafeBytes { digest += RecordDigest($0) }
        }
        var bytes: [UInt8] = []
        append(digest.high, &bytes)
        append(digest.low, &bytes)
        return bytes
    }

    private static func append(_ number: some FixedWidthInteger, _ bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
