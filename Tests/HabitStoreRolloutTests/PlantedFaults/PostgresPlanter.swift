import Foundation
import HabitStoreRollout
import HabitTracker

@_spi(Engines) @testable import HabitStore
@_spi(Engines) @testable import HabitStorePostgres
@testable import OrderedKeys

/// Plants faults in a server's tables by SQL.
///
/// The store's row sums up its other rows. It is updated to match the fault, so that another check has to find it.
struct PostgresPlanter: OrderedKeyPlanter {
    let path: String
    /// Whether the store's row stays unchanged.
    var leavesStoreRow = false

    var address: StoreAddress { StoreAddress(.postgres, path: path) }

    /// The same planter, but leaving the store's row unchanged.
    var leavingStoreRow: PostgresPlanter { PostgresPlanter(path: path, leavesStoreRow: true) }

    func open(_ access: StoreAccess) throws -> any UserStoreBackend {
        try PostgresProvider().open(path, schema: HabitSchema.current, access: access)
    }

    func write(_ body: (PostgresPlantedRows) throws -> Void) throws {
        let place = try PostgresPlace(parsing: path)
        let shell = try PostgresShell(place.server)
        try shell.run("BEGIN")
        let rows = try PostgresPlantedRows(shell, place)
        try body(rows)
        if !leavesStoreRow { try rows.fitStoreRow() }
        try shell.run("COMMIT")
    }

    /// Makes the entries of a record in an index name a different record from their keys.
    func misnameIndexEntries(_ entity: String, _ attributes: [String], of id: UUID, as other: UUID) throws {
        try write { rows in
            let table = try PlantedTable(rows, HabitSchema.current.entity(entity))
            let index = try table.index(attributes)
            for key in try table.keys(index, try table.record(id), id) {
                try rows.putKey(key, naming: other, index.name)
            }
        }
    }

    /// Flips a bit in the store's row.
    ///
    /// - Parameter column: `digests` or `meta_sum`.
    func changeStoreRow(_ column: String) throws {
        try leavingStoreRow.write { try $0.changeStoreRow(column) }
    }
}

/// The contents of a store in a server's tables, in a transaction.
struct PostgresPlantedRows: PlantedRows {
    private let shell: PostgresShell
    private let store: String
    private let path: String
    /// The bookkeeping at the start of the transaction.
    private let metadata: [String: String]

    init(_ shell: PostgresShell, _ place: PostgresPlace) throws {
        (self.shell, store, path) = (shell, place.store.uuidString, place.description)
        metadata = try Self.metadata(shell, store)
    }

    private static func metadata(_ shell: PostgresShell, _ store: String) throws -> [String: String] {
        let rows = try shell.run("SELECT key, value FROM hs_meta WHERE store = $1", [store])
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
    }

    private func missing(_ message: String) -> HabitStoreError {
        HabitStoreError(.notFound, message, at: .init(path: path))
    }

    private func entity(_ name: String) throws -> String { try number("number.entity.\(name)") }

    private func index(_ name: String) throws -> String { try number("number.index.\(name)") }

    private func number(_ key: String) throws -> String {
        guard let number = metadata[key] else { throw missing("the store has no \(key)") }
        return number
    }

    // MARK: Rows

    func record(_ entity: String, _ id: UUID) throws -> [UInt8]? {
        let sql = "SELECT body FROM hs_record WHERE store = $1 AND entity = $2 AND id = $3"
        return try shell.run(sql, [store, self.entity(entity), id.uuidString]).first.map { Self.bytes($0[0]) }
    }

    func putRecord(_ entity: String, _ id: UUID, _ record: [UInt8]) throws {
        let sql = """
            INSERT INTO hs_record (store, entity, id, body) VALUES ($1, $2, $3, $4)
            ON CONFLICT (store, entity, id) DO UPDATE SET body = excluded.body
            """
        try shell.run(sql, [store, self.entity(entity), id.uuidString, Self.text(record)])
    }

    func removeRecord(_ entity: String, _ id: UUID) throws {
        let sql = "DELETE FROM hs_record WHERE store = $1 AND entity = $2 AND id = $3"
        try shell.run(sql, [store, self.entity(entity), id.uuidString])
    }

    /// The tables contain no copies of records.
    func putKey(_ key: [UInt8], _ copy: [UInt8], _ index: String) throws {
        guard let id = key.withUnsafeBytes({ UUID(keyEnd: $0) }) else { throw missing("a key has no identifier") }
        try putKey(key, naming: id, index)
    }

    func putKey(_ key: [UInt8], naming id: UUID, _ index: String) throws {
        let sql = """
            INSERT INTO hs_index (store, number, key, id) VALUES ($1, $2, $3, $4)
            ON CONFLICT (store, number, key) DO UPDATE SET id = excluded.id
            """
        try shell.run(sql, [store, self.index(index), Self.text(key), id.uuidString])
    }

    func removeKey(_ key: [UInt8], _ index: String) throws -> Bool {
        let sql = "DELETE FROM hs_index WHERE store = $1 AND number = $2 AND key = $3 RETURNING id"
        return try !shell.run(sql, [store, self.index(index), Self.text(key)]).isEmpty
    }

    func removeHistory(_ token: HistoryToken) throws -> Bool {
        let sql = "DELETE FROM hs_history WHERE store = $1 AND token = $2 RETURNING sequence"
        return try !shell.run(sql, [store, String(token.rawValue)]).isEmpty
    }

    func putHistory(_ key: HistoryKey, _ value: [UInt8]) throws {
        let sql = "INSERT INTO hs_history (store, token, sequence, body) VALUES ($1, $2, $3, $4)"
        try shell.run(sql, [store, String(key.token), String(key.sequence), Self.text(value)])
    }

    func putMetadata(_ key: String, _ value: String) throws {
        let sql = """
            INSERT INTO hs_meta (store, key, value) VALUES ($1, $2, $3)
            ON CONFLICT (store, key) DO UPDATE SET value = excluded.value
            """
        try shell.run(sql, [store, key, value])
    }

    func changeDigest(_ entity: String, _ change: (inout [UInt8]) -> Void) throws {
        let number = try self.entity(entity)
        let found = try shell.run("SELECT body FROM hs_digest WHERE store = $1 AND entity = $2", [store, number])
        guard found.count == 1 else { throw missing("there is not one digest of \(entity)") }
        var value = Self.bytes(found[0][0])
        change(&value)
        let sql = "UPDATE hs_digest SET body = $3 WHERE store = $1 AND entity = $2"
        try shell.run(sql, [store, number, Self.text(value)])
    }

    // MARK: The store's row

    /// Updates the store's row to match the other rows.
    func fitStoreRow() throws {
        var digests: [Int16: RecordDigest] = [:]
        for (key, number) in metadata where key.hasPrefix("number.entity.") {
            let leaves = try shell.run(
                "SELECT first, body FROM hs_digest WHERE store = $1 AND entity = $2",
                [store, number]
            )
            guard let entity = Int16(number) else { throw missing("\(key) is not a number") }
            digests[entity] = try leaves.reduce(into: RecordDigest()) { sum, row in
                guard let first = UUID(uuidString: row[0]) else { throw missing("a digest begins nowhere") }
                sum += try Self.bytes(row[1]).withUnsafeBytes {
                    try DigestCoder.leaf($0, first: first, path: path).digest
                }
            }
        }
        let sql = """
            UPDATE hs_store SET digests = $2, meta_sum = $3,
            token = (SELECT coalesce(max(token), 0) FROM hs_history WHERE store = $1) WHERE store = $1
            """
        let sum = PostgresTotals.sum(of: try Self.metadata(shell, store))
        try shell.run(sql, [store, Self.text(PostgresTotals.bytes(digests)), Self.text(sum)])
    }

    /// The values in the store's row that sum up the other rows.
    func storeRow() throws -> [String] {
        try shell.run("SELECT token, digests, meta_sum FROM hs_store WHERE store = $1", [store])[0]
    }

    /// Flips a bit in the last byte of a column of the store's row.
    func changeStoreRow(_ column: String) throws {
        let last = "8 * octet_length(\(column)) - 1"
        let changed = "set_bit(\(column), \(last), 1 - get_bit(\(column), \(last)))"
        try shell.run("UPDATE hs_store SET \(column) = \(changed) WHERE store = $1", [store])
    }

    // MARK: Bytes as text

    private static func text(_ bytes: [UInt8]) -> String {
        "\\x" + bytes.map { String(0x100 + Int($0), radix: 16).dropFirst() }.joined()
    }

    private static func bytes(_ text: String) -> [UInt8] {
        let digits = Array(text.utf8.dropFirst(2))
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }
}
