import Foundation
@_spi(Engines) import HabitStore

/// Replays a history to find which records must exist and which must not.
///
/// If the history reaches back to the first record, one pass and a comparison of the sums of identifiers is enough. Only if these differ, or the
/// history begins later, is each record that it names looked up. Memory then holds one identifier for each record that the history deleted.
struct HistoryReplay {
    /// A record, and the last token at which it changed.
    struct Finding {
        let entity: Int
        let id: UUID
        let token: HistoryToken
    }

    private struct Key: Hashable {
        let entity: Int
        let id: UUID
    }

    /// The number of records of an entity and the sum of their identifiers' hashes, which does not depend on their order.
    private struct Sum: Equatable {
        var count = 0
        var sum = 0

        mutating func add(_ id: UUID) { (count, sum) = (count &+ 1, sum &+ id.hashValue) }
        mutating func subtract(_ id: UUID) { (count, sum) = (count &- 1, sum &- id.hashValue) }
    }

    /// Records that the history has stored last, and that are not there.
    private(set) var missing: [Finding] = []
    /// Records that the history has deleted last, and that are there.
    private(set) var undeleted: [Finding] = []
    /// For each entity, how many records there were before the history begins.
    private(set) var base: [Int]
    /// For each entity, the last token that mentions a present record that was not deleted; nil if there is none.
    private(set) var firstPresent: [HistoryToken?]
    /// Whether the history has a migration, or an entity that the schema lacks.
    private(set) var tellsOfMigration = false

    private let transaction: any ReadTransaction
    private let floor: HistoryToken
    private let positions: [String: Int]
    private var net: [Sum]

    /// Replays what a store's history has after a token.
    init(_ transaction: any ReadTransaction, after floor: HistoryToken) throws {
        (self.transaction, self.floor) = (transaction, floor)
        let entities = transaction.schema.entities
        positions = Dictionary(entities.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        net = entities.map { _ in Sum() }
        base = entities.map { _ in 0 }
        firstPresent = entities.map { _ in nil }
        try sumUp()
        let records = try entities.indices.map(records)
        if floor == .zero, records == net { return }
        try lookUp()
        for entity in base.indices {
            let wrong = missing.count { $0.entity == entity } &- undeleted.count { $0.entity == entity }
            base[entity] = max(0, records[entity].count &- net[entity].count &+ wrong)
        }
    }

    private mutating func sumUp() throws {
        var (net, tellsOfMigration) = (net, false)
        try transaction.enumerateHistory(after: floor) { transaction in
            if transaction.author?.hasPrefix("migration ") == true { tellsOfMigration = true }
            for change in transaction.changes {
                guard let entity = positions[change.entity] else {
                    tellsOfMigration = true
                    continue
                }
                switch change.kind {
                case .insert: net[entity].add(change.id)
                case .update: break
                case .delete: net[entity].subtract(change.id)
                }
            }
            return true
        }
        (self.net, self.tellsOfMigration) = (net, tellsOfMigration)
    }

    private func records(of entity: Int) throws -> Sum {
        var fetch = try PreparedFetch(
            RecordQuery(entity: transaction.schema.entities[entity].name),
            schema: transaction.schema
        )
        fetch.query.projection = [0]
        var sum = Sum()
        try transaction.enumerateRows(fetch) { row in
            sum.add(try row.identifier())
            return true
        }
        return sum
    }

    private mutating func lookUp() throws {
        var (absent, present): ([Key: HistoryToken], [Key: HistoryToken]) = ([:], [:])
        var first = firstPresent
        try transaction.enumerateHistory(after: floor) { transaction in
            for change in transaction.changes {
                guard let entity = positions[change.entity] else { continue }
                let key = Key(entity: entity, id: change.id)
                let isThere = try self.transaction.withRow(entity: entity, id: change.id) { _ in }
                if case .delete = change.kind {
                    if isThere { present[key] = transaction.token } else { absent[key] = nil }
                } else if isThere {
                    present[key] = nil
                    first[entity] = first[entity] ?? transaction.token
                } else {
                    absent[key] = transaction.token
                }
            }
            return true
        }
        firstPresent = first
        missing = Self.findings(absent)
        undeleted = Self.findings(present)
    }

    private static func findings(_ found: [Key: HistoryToken]) -> [Finding] {
        found.map { Finding(entity: $0.key.entity, id: $0.key.id, token: $0.value) }
            .sorted { ($0.entity, $0.token, $0.id.uuidString) < ($1.entity, $1.token, $1.id.uuidString) }
    }
}
