import Foundation
@_spi(Engines) import HabitStore

/// The stored digests, one row for each leaf. The sum has 16 bytes, little-endian.
@_spi(Engines) extension SQLiteSnapshot {
    private static let columns = "first, depth, count, sum FROM habitstore_digest WHERE entity = ?1"

    /// The stored digest whose range contains an identifier.
    public func digestLeaf(entity: Int, covering id: UUID) throws -> DigestLeaf? {
        guard try digestsExist() else { return nil }
        let sql = "SELECT \(Self.columns) AND first <= ?2 ORDER BY first DESC LIMIT 1"
        return try connection.withStatement(sql) { statement in
            try statement.bind(tables[entity].description.name, at: 1)
            try statement.bind(id, at: 2)
            return try statement.step() ? try leaf(statement) : nil
        }
    }

    /// All stored digests of an entity; nil if the store has no table for them.
    public func digestLeaves(entity: Int) throws -> [DigestLeaf]? {
        guard try digestsExist() else { return nil }
        return try connection.withStatement("SELECT \(Self.columns) ORDER BY first") { statement in
            try statement.bind(tables[entity].description.name, at: 1)
            var leaves: [DigestLeaf] = []
            while try statement.step() { leaves.append(try leaf(statement)) }
            return leaves
        }
    }

    /// The first versions created stores without this table.
    fileprivate func digestsExist() throws -> Bool {
        if let hasDigests { return hasDigests }
        let found = try connection.hasTable(SQLiteFormat.digestTable, column: "entity")
        hasDigests = found
        return found
    }

    private func leaf(_ statement: SQLiteStatement) throws -> DigestLeaf {
        let depth = statement.int64(at: 1)
        let sum = try statement.blob(at: 3)
        var leaf: DigestLeaf?
        if sum.count == 16 {
            let digest = RecordDigest(
                count: statement.int64(at: 2),
                low: UInt64(littleEndian: sum.loadUnaligned(as: UInt64.self)),
                high: UInt64(littleEndian: sum.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
            leaf = DigestLeaf(stored: try statement.uuid(at: 0), depth: depth, digest: digest)
        }
        guard let leaf else {
            throw try HabitStoreError.damage(
                "a kept digest is none; run `\(OperatorCommand.name) check`",
                at: .init(path: connection.path)
            )
        }
        return leaf
    }
}

@_spi(Engines) extension SQLiteWriter {
    /// Stores a digest. Replaces one with the same first identifier.
    public func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws {
        if try !digestsExist() {
            try connection.exec(SQLiteFormat.digestDefinition)
            hasDigests = true
        }
        let sql =
            "INSERT INTO habitstore_digest (entity, first, depth, count, sum) VALUES (?1, ?2, ?3, ?4, ?5) "
            + "ON CONFLICT (entity, first) DO UPDATE SET depth = excluded.depth, count = excluded.count, sum = excluded.sum"
        try connection.withStatement(sql) { statement in
            try statement.bind(tables[entity].description.name, at: 1)
            try statement.bind(leaf.first, at: 2)
            try statement.bind(Int64(leaf.depth), at: 3)
            try statement.bind(leaf.digest.count, at: 4)
            let sum = (leaf.digest.low.littleEndian, leaf.digest.high.littleEndian)
            try withUnsafeBytes(of: sum) { try statement.bind($0, at: 5) }
            try statement.run()
        }
    }

    /// Removes all stored digests of an entity.
    public func removeDigestLeaves(entity: Int) throws {
        guard try digestsExist() else { return }
        try connection.withStatement("DELETE FROM habitstore_digest WHERE entity = ?1") { statement in
            try statement.bind(tables[entity].description.name, at: 1)
            try statement.run()
        }
    }
}
