import Foundation
import HabitStore
@_spi(Engines) import OrderedKeys

/// The history's database: a header and the changes of each transaction. ``LMDBFormat`` documents the bytes.
struct LMDBHistory {
    private let transaction: LMDBTransaction
    private let database: LMDBDatabase
    private let path: String

    /// Up to this many changes are written without a cursor.
    private static let fewChanges = 8

    /// The number of keys that are deleted before the tree is searched again.
    private static let pruningBatch = 1_000

    init(_ transaction: LMDBTransaction, _ catalog: LMDBCatalog) throws {
        guard let database = catalog.history else {
            throw LMDBError.error(.schemaMismatch, "the store has no history", path: catalog.path)
        }
        self.transaction = transaction
        self.database = database
        path = catalog.path
    }

    // MARK: Reading

    /// The number of the last transaction; 0 if there is none.
    func lastToken() throws -> Int64 {
        guard let last = try transaction.cursor(database).last() else { return 0 }
        return try HistoryKey(last.key, path: path).token
    }

    /// Passes the transactions after a number to `body`, oldest first, until it returns false.
    func forEach(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) throws {
        let cursor = try transaction.cursor(database)
        guard token < Int64.max else { return }
        var record = try cursor.seek(HistoryKey(token: max(0, token) + 1, sequence: 0).bytes)
        while let header = record {
            let key = try HistoryKey(header.key, path: path)
            guard key.sequence == 0 else { throw damaged("has changes without their transaction") }
            let (timestamp, author, count) = try HistoryCoder.header(header.value, path: path)
            var changes: [HistoryChange] = []
            // A damaged header may claim more changes than there are records.
            changes.reserveCapacity(min(count, try transaction.count(database)))
            for sequence in 1..<(UInt64(count) + 1) {
                guard let change = try cursor.next(),
                    try HistoryKey(change.key, path: path) == HistoryKey(token: key.token, sequence: sequence)
                else { throw damaged("lacks a change of transaction \(key.token)") }
                changes.append(try HistoryCoder.change(change.value, path: path))
            }
            let found = HistoryTransaction(
                token: HistoryToken(rawValue: key.token),
                timestamp: timestamp,
                author: author,
                changes: changes
            )
            guard try body(found) else { return }
            record = try cursor.next()
        }
    }

    private func damaged(_ message: String) -> HabitStoreError {
        LMDBError.error(.corrupt, "the history \(message); run `\(OperatorCommand.name) check`", path: path)
    }

    // MARK: Writing

    func append(_ appended: HistoryTransaction) throws {
        let token = appended.token.rawValue
        guard token > 0, appended.changes.count < Int(UInt32.max) else {
            throw LMDBError.error(.limitExceeded, "a history transaction has an impossible number or size", path: path)
        }
        // A cursor shortens the way to the end, but does not pay for a few changes.
        let cursor = appended.changes.count > Self.fewChanges ? try transaction.cursor(database) : nil
        func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
            if let cursor {
                _ = try cursor.put(key, value, mode: .append)
            } else {
                try transaction.put(database, key, value, mode: .append)
            }
        }
        try HistoryKey(token: token, sequence: 0).withBytes { key in
            try HistoryCoder.header(appended).withUnsafeBytes { try put(key, $0) }
        }
        var value: [UInt8] = []
        var inserted: String?
        for (place, change) in appended.changes.enumerated() {
            if case .insert = change.kind, inserted == change.entity {
                // Most changes in a load: equal to the one before except for the identifier at the end.
                HistoryCoder.replaceIdentifier(change.id, in: &value)
            } else {
                try HistoryCoder.encode(change, into: &value)
                if case .insert = change.kind { inserted = change.entity } else { inserted = nil }
            }
            try HistoryKey(token: token, sequence: UInt64(place) + 1).withBytes { key in
                try value.withUnsafeBytes { try put(key, $0) }
            }
        }
    }

    func prune(through token: Int64) throws {
        guard token >= (try lastToken()) else { return try pruneBeginning(through: token) }
        try transaction.removeAll(database)
    }

    /// Deletes in batches: a cursor must not be used after a deletion.
    private func pruneBeginning(through token: Int64) throws {
        while true {
            var keys: [HistoryKey] = []
            try transaction.forEach(database) { record in
                let key = try HistoryKey(record.key, path: path)
                guard key.token <= token, keys.count < Self.pruningBatch else { return false }
                keys.append(key)
                return true
            }
            if keys.isEmpty { return }
            for key in keys { _ = try key.withBytes { try transaction.delete(database, $0) } }
        }
    }
}

@_spi(Engines) extension LMDBSnapshot {
    /// The number of the last history transaction; 0 if there is none.
    public func lastToken() throws -> Int64 { try LMDBHistory(transaction, catalog).lastToken() }

    /// Passes the history transactions after a number to `body`, oldest first, until it returns false.
    public func history(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) throws {
        try LMDBHistory(transaction, catalog).forEach(after: token, body)
    }
}
