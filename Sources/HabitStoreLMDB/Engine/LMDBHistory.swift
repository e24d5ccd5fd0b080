import Foundation
@_spi(Engines) import HabitStore
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

/// The stored digests. The key is the entity's name, 0x00 and the leaf's first identifier. The value is the depth (one byte), the
/// number of records (8 bytes) and the sum (16 bytes), little-endian.
@_spi(Engines) extension LMDBSnapshot {
    /// The stored digest whose range contains an identifier.
    public func digestLeaf(entity: Int, covering id: UUID) throws -> DigestLeaf? {
        guard let database = catalog.digests else { return nil }
        let prefix = catalog.digestPrefixes[entity]
        let key = digestKey(prefix, id)
        let cursor = try transaction.cursor(database)
        var record = try cursor.seek(key)
        if record.map({ !$0.key.elementsEqual(key) }) ?? true {
            record = record == nil ? try cursor.last() : try cursor.previous()
        }
        guard let record else { return nil }
        return try DigestLeaf(record, prefix: prefix, path: catalog.path)
    }

    /// All stored digests of an entity; nil if the store has no database for them.
    public func digestLeaves(entity: Int) throws -> [DigestLeaf]? {
        guard let database = catalog.digests else { return nil }
        let prefix = catalog.digestPrefixes[entity]
        var leaves: [DigestLeaf] = []
        try transaction.forEach(database, prefix: prefix) { record in
            if let leaf = try DigestLeaf(record, prefix: prefix, path: catalog.path) { leaves.append(leaf) }
            return true
        }
        return leaves
    }

    fileprivate func digestKey(_ prefix: [UInt8], _ id: UUID) -> [UInt8] {
        withUnsafeBytes(of: id.uuid) { id in
            [UInt8](unsafeUninitializedCapacity: prefix.count + id.count) { key, count in
                count = prefix.count + id.count
                _ = key.initialize(from: prefix)
                _ = key[prefix.count...].initialize(from: id)
            }
        }
    }
}

extension DigestLeaf {
    /// The digest in a record of the digests' database; nil if it belongs to another entity.
    ///
    /// - Parameter prefix: the key prefix of the entity.
    init?(_ record: LMDBRecord, prefix: [UInt8], path: String) throws {
        guard record.key.starts(with: prefix) else { return nil }
        guard record.key.count == prefix.count + KeyFormat.identifierLength else { throw DigestCoder.damaged(path) }
        let first = UUID(uuid: record.key.loadUnaligned(fromByteOffset: prefix.count, as: uuid_t.self))
        self = try DigestCoder.leaf(record.value, first: first, path: path)
    }
}

@_spi(Engines) extension LMDBWriter {
    /// Stores a digest. Replaces one with the same first identifier.
    public func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws {
        guard let database = catalog.digests else {
            throw LMDBError.error(.schemaMismatch, "the store has no digests", path: catalog.path)
        }
        let key = digestKey(catalog.digestPrefixes[entity], leaf.first)
        try transaction.put(database, key, DigestCoder.value(leaf))
    }

    /// Removes all stored digests of an entity.
    public func removeDigestLeaves(entity: Int) throws {
        guard let database = catalog.digests else { return }
        for leaf in try digestLeaves(entity: entity) ?? [] {
            _ = try transaction.delete(database, digestKey(catalog.digestPrefixes[entity], leaf.first))
        }
    }
}
