import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

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
