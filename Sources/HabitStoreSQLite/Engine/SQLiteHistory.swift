import Foundation
@_spi(Engines) import HabitStore

/// The history in two tables: the transactions, and their changes in order.
package struct SQLiteHistory {
    /// The statements for the tables of a kind of file.
    package struct Tables: Sendable {
        /// Those of a store's own file.
        static let own = Tables(prefix: "")
        /// Those next to another program's tables.
        package static let adopted = Tables(prefix: "habitstore_")

        /// What creates them.
        package let definitions: [String]
        /// Their names.
        let names: [String]
        fileprivate let selectLast: String
        fileprivate let select: String
        fileprivate let count: String
        fileprivate let insertTransaction: String
        fileprivate let insertChange: String

        private init(prefix: String) {
            let (transactions, changes) = (prefix + "history_transaction", prefix + "history_change")
            names = [changes, transactions]
            definitions = [
                """
                CREATE TABLE \(transactions) (
                  token INTEGER PRIMARY KEY,
                  timestamp REAL NOT NULL,
                  author TEXT
                ) STRICT
                """,
                """
                CREATE TABLE \(changes) (
                  token INTEGER NOT NULL,
                  sequence INTEGER NOT NULL,
                  entity TEXT NOT NULL,
                  id BLOB NOT NULL,
                  kind TEXT NOT NULL,
                  attributes TEXT,
                  tombstone TEXT,
                  PRIMARY KEY (token, sequence)
                ) STRICT, WITHOUT ROWID
                """,
            ]
            selectLast = "SELECT max(token) FROM \(transactions)"
            select =
                "SELECT t.token, t.timestamp, t.author, c.sequence, c.entity, c.id, c.kind, c.attributes, c.tombstone "
                + "FROM \(transactions) AS t LEFT JOIN \(changes) AS c ON c.token = t.token "
                + "WHERE t.token >= ?1 ORDER BY t.token, c.sequence"
            count = "SELECT count(*) FROM \(changes) WHERE token = ?1"
            insertTransaction = "INSERT INTO \(transactions) (token, timestamp, author) VALUES (?1, ?2, ?3)"
            insertChange =
                "INSERT INTO \(changes) (token, sequence, entity, id, kind, attributes, tombstone) "
                + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        }
    }

    /// The number of changes at which a transaction's changes are counted before reading on.
    private static let largeCount = 4_096

    private let connection: SQLiteConnection
    private let tables: Tables

    init(_ connection: SQLiteConnection) { self.init(connection, .own) }

    package init(_ connection: SQLiteConnection, _ tables: Tables) {
        (self.connection, self.tables) = (connection, tables)
    }

    package func lastToken() throws -> Int64 {
        try connection.withStatement(tables.selectLast) { statement in
            try statement.step() ? statement.int64(at: 0) : 0
        }
    }

    // MARK: Reading

    /// Keeps one transaction at a time in memory.
    package func walk(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) throws {
        guard token < Int64.max else { return }
        try connection.withStatement(tables.select) { statement in
            // In a damaged file, the least number can be a token, and nothing comes before it.
            try statement.bind(token == Int64.min ? token : token + 1, at: 1)
            var current: (token: Int64, timestamp: Date, author: String?)?
            var changes: [HistoryChange] = []
            while try statement.step() {
                let token = statement.int64(at: 0)
                if let last = current, last.token != token {
                    guard try body(Self.transaction(last, changes)) else { return }
                    current = nil
                    changes.removeAll(keepingCapacity: true)
                }
                if current == nil {
                    guard (1...HistoryToken.greatest.rawValue).contains(token) else {
                        throw corrupt(token, "has a number that no store comes to")
                    }
                    let timestamp = statement.double(at: 1)
                    guard timestamp.isFinite else { throw corrupt(token, "has an infinite time") }
                    let author = statement.isNull(at: 2) ? nil : try statement.text(at: 2)
                    current = (token, Date(timeIntervalSinceReferenceDate: timestamp), author?.normalizedToNFC())
                }
                if !statement.isNull(at: 3) { changes.append(try change(statement, token)) }
                // An array that grows by doubling briefly takes three times the memory of its elements.
                if changes.count == Self.largeCount { changes.reserveCapacity(try changeCount(token)) }
            }
            if let current { _ = try body(Self.transaction(current, changes)) }
        }
    }

    private func changeCount(_ token: Int64) throws -> Int {
        try connection.withStatement(tables.count) { statement in
            try statement.bind(token, at: 1)
            return try statement.step() ? Int(statement.int64(at: 0)) : 0
        }
    }

    private static func transaction(
        _ head: (token: Int64, timestamp: Date, author: String?),
        _ changes: [HistoryChange]
    ) -> HistoryTransaction {
        HistoryTransaction(
            token: HistoryToken(rawValue: head.token),
            timestamp: head.timestamp,
            author: head.author,
            changes: changes
        )
    }

    private func change(_ statement: SQLiteStatement, _ token: Int64) throws -> HistoryChange {
        let kind: HistoryChange.Kind
        switch try statement.text(at: 6) {
        case "insert": kind = .insert
        case "update":
            guard !statement.isNull(at: 7), let names = SQLiteTextList.decode(try statement.text(at: 7)) else {
                throw corrupt(token, "does not say which attributes were updated")
            }
            kind = .update(updatedAttributes: names)
        case "delete":
            guard !statement.isNull(at: 8) else { throw corrupt(token, "has a deletion without a tombstone") }
            do {
                let json = Data(try statement.text(at: 8).utf8)
                kind = .delete(tombstone: try JSONDecoder().decode([String: Value].self, from: json))
            } catch let error as DecodingError {
                throw corrupt(token, "has a malformed tombstone", error)
            }
        default: throw corrupt(token, "has a change of an unknown kind")
        }
        return HistoryChange(entity: try statement.text(at: 4), id: try statement.uuid(at: 5), kind: kind)
    }

    private func corrupt(_ token: Int64, _ what: String, _ cause: (any Error)? = nil) -> HabitStoreError {
        HabitStoreError.damage(
            "the history's transaction \(token) \(what); run `\(OperatorCommand.name) check`",
            at: .init(path: connection.path),
            underlying: cause
        )
    }

    // MARK: Writing

    package func append(_ transaction: HistoryTransaction) throws {
        let token = transaction.token.rawValue
        try connection.withStatement(tables.insertTransaction) { statement in
            try statement.bind(token, at: 1)
            try statement.bind(transaction.timestamp.timeIntervalSinceReferenceDate, at: 2)
            if let author = transaction.author { try statement.bind(author, at: 3) }
            try statement.run()
        }
        var entity: String?
        try connection.withStatement(tables.insertChange) { statement in
            try statement.bind(token, at: 1)
            var wasInsertion = false
            for (sequence, change) in transaction.changes.enumerated() {
                // From 1, as in the other engine.
                try statement.bind(Int64(sequence) + 1, at: 2)
                // Bindings persist, and most changes have the same entity and kind as the one before.
                if entity != change.entity { try statement.bind(change.entity, at: 3) }
                entity = change.entity
                try statement.bind(change.id, at: 4)
                let isInsertion = change.kind.isInsertion
                if !isInsertion || !wasInsertion { try bind(change.kind, to: statement) }
                wasInsertion = isInsertion
                try statement.run()
            }
        }
    }

    private func bind(_ kind: HistoryChange.Kind, to statement: SQLiteStatement) throws {
        var attributes: String?
        var tombstone: String?
        let word: String
        switch kind {
        case .insert: word = "insert"
        case .update(let names):
            word = "update"
            attributes = SQLiteTextList.encode(names)
        case .delete(let values):
            word = "delete"
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            tombstone = String(decoding: try encoder.encode(values), as: UTF8.self)
        }
        try statement.bind(word, at: 5)
        if let attributes { try statement.bind(attributes, at: 6) } else { try statement.bindNull(at: 6) }
        if let tombstone { try statement.bind(tombstone, at: 7) } else { try statement.bindNull(at: 7) }
    }

    package func prune(through token: Int64) throws {
        for table in tables.names {
            try connection.withStatement("DELETE FROM \(table) WHERE token <= ?1") { statement in
                try statement.bind(token, at: 1)
                try statement.run()
            }
        }
    }
}

extension HistoryChange.Kind {
    fileprivate var isInsertion: Bool {
        if case .insert = self { return true }
        return false
    }
}

/// The stored digests, one row for each leaf. The sum has 16 bytes, little-endian.
package struct SQLiteDigests {
    private static let columns = "first, depth, count, sum FROM habitstore_digest WHERE entity = ?1"

    private let connection: SQLiteConnection

    package init(_ connection: SQLiteConnection) { self.connection = connection }

    /// The stored digest of an entity whose range contains an identifier.
    package func leaf(of entity: String, covering id: UUID) throws -> DigestLeaf? {
        let sql = "SELECT \(Self.columns) AND first <= ?2 ORDER BY first DESC LIMIT 1"
        return try connection.withStatement(sql) { statement in
            try statement.bind(entity, at: 1)
            try statement.bind(id, at: 2)
            return try statement.step() ? try leaf(statement) : nil
        }
    }

    /// All stored digests of an entity, ascending.
    package func leaves(of entity: String) throws -> [DigestLeaf] {
        try connection.withStatement("SELECT \(Self.columns) ORDER BY first") { statement in
            try statement.bind(entity, at: 1)
            var leaves: [DigestLeaf] = []
            while try statement.step() { leaves.append(try leaf(statement)) }
            return leaves
        }
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
            throw HabitStoreError.damage(
                "a kept digest is none; run `\(OperatorCommand.name) check`",
                at: .init(path: connection.path)
            )
        }
        return leaf
    }

    /// Stores a digest. Replaces one with the same first identifier.
    package func set(_ leaf: DigestLeaf, of entity: String) throws {
        let sql =
            "INSERT INTO habitstore_digest (entity, first, depth, count, sum) VALUES (?1, ?2, ?3, ?4, ?5) "
            + "ON CONFLICT (entity, first) DO UPDATE SET depth = excluded.depth, count = excluded.count, sum = excluded.sum"
        try connection.withStatement(sql) { statement in
            try statement.bind(entity, at: 1)
            try statement.bind(leaf.first, at: 2)
            try statement.bind(Int64(leaf.depth), at: 3)
            try statement.bind(leaf.digest.count, at: 4)
            let sum = (leaf.digest.low.littleEndian, leaf.digest.high.littleEndian)
            try withUnsafeBytes(of: sum) { try statement.bind($0, at: 5) }
            try statement.run()
        }
    }

    /// Removes all stored digests of an entity.
    package func removeAll(of entity: String) throws {
        try connection.withStatement("DELETE FROM habitstore_digest WHERE entity = ?1") { statement in
            try statement.bind(entity, at: 1)
            try statement.run()
        }
    }
}

@_spi(Engines) extension SQLiteSnapshot {
    /// The stored digest whose range contains an identifier.
    public func digestLeaf(entity: Int, covering id: UUID) throws -> DigestLeaf? {
        guard try digestsExist() else { return nil }
        return try SQLiteDigests(connection).leaf(of: tables[entity].description.name, covering: id)
    }

    /// All stored digests of an entity; nil if the store has no table for them.
    public func digestLeaves(entity: Int) throws -> [DigestLeaf]? {
        guard try digestsExist() else { return nil }
        return try SQLiteDigests(connection).leaves(of: tables[entity].description.name)
    }

    /// The first versions created stores without this table.
    fileprivate func digestsExist() throws -> Bool {
        if let hasDigests { return hasDigests }
        let found = try connection.hasTable(SQLiteFormat.digestTable, column: "entity")
        hasDigests = found
        return found
    }
}

@_spi(Engines) extension SQLiteWriter {
    /// Stores a digest. Replaces one with the same first identifier.
    public func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws {
        if try !digestsExist() {
            try connection.exec(SQLiteFormat.digestDefinition)
            hasDigests = true
        }
        try SQLiteDigests(connection).set(leaf, of: tables[entity].description.name)
    }

    /// Removes all stored digests of an entity.
    public func removeDigestLeaves(entity: Int) throws {
        guard try digestsExist() else { return }
        try SQLiteDigests(connection).removeAll(of: tables[entity].description.name)
    }
}
