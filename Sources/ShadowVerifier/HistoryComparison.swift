import Foundation
@_spi(Engines) import HabitStore

extension Comparison {
    /// Transactions compared at a time: what is held of each are its number and a digest.
    private static var window: Int64 { 100_000 }

    /// Compares the histories of stores with one lineage, from where both have one, and holds the records against them.
    ///
    /// - Returns: the number of transactions compared.
    mutating func compareHistory(_ progress: (ShadowVerifier.Progress) throws -> Void) throws -> Int {
        let (left, right) = (report.a.information, report.b.information)
        var after = max(left.historyFloor, right.historyFloor)
        var compared = 0
        while after < left.token {
            let end = HistoryToken(rawValue: after.rawValue + min(left.token.rawValue - after.rawValue, Self.window))
            let sides = (try digests(transactions.a, after, end), try digests(transactions.b, after, end))
            for token in Set(sides.0.keys).union(sides.1.keys).sorted() where sides.0[token] != sides.1[token] {
                note(try difference(token, sides.0[token] == nil, sides.1[token] == nil))
            }
            compared += max(sides.0.count, sides.1.count)
            after = end
            try tell(progress)
            guard sides.0.isEmpty, sides.1.isEmpty else { continue }
            // The numbers of a damaged store may be far apart, or end long before the last.
            let next = [try firstToken(after, transactions.a), try firstToken(after, transactions.b)].compactMap(\.self)
                .min()
            guard let next else { break }
            after = HistoryToken(rawValue: next.rawValue - 1)
        }
        try replayHistory()
        return compared
    }

    /// The first token of a history after another one.
    private func firstToken(_ after: HistoryToken, _ transaction: any ReadTransaction) throws -> HistoryToken? {
        var found: HistoryToken?
        try transaction.enumerateHistory(after: after) {
            found = $0.token
            return false
        }
        return found
    }

    private func digests(
        _ transaction: any ReadTransaction,
        _ after: HistoryToken,
        _ end: HistoryToken
    ) throws -> [HistoryToken: RecordDigest] {
        let form = CanonicalForm()
        var digests: [HistoryToken: RecordDigest] = [:]
        try transaction.enumerateHistory(after: after) { transaction in
            guard transaction.token <= end else { return false }
            form.write(transaction)
            digests[transaction.token] = RecordDigest(form.bytes)
            return true
        }
        return digests
    }

    private func difference(_ token: HistoryToken, _ lacksA: Bool, _ lacksB: Bool) throws -> StoreDifference {
        if lacksA || lacksB {
            let name = lacksA ? stores.a.name : stores.b.name
            return StoreDifference(.history, "history transaction \(token) is not in \(name)", subject: "\(token)")
        }
        guard let left = try transaction(token, transactions.a),
            let right = try transaction(token, transactions.b)
        else {
            return StoreDifference(.history, "history transaction \(token) cannot be read again", subject: "\(token)")
        }
        guard left.changes.count == right.changes.count else {
            return StoreDifference(
                .history,
                "history transaction \(token) has \(left.changes.count) changes in \(stores.a.name), "
                    + "\(right.changes.count) in \(stores.b.name)",
                subject: "\(token)"
            )
        }
        for (first, second) in zip(left.changes, right.changes) where !first.isIdentical(to: second) {
            return StoreDifference(
                .history,
                "history transaction \(token): what it says of \(first.entity) \(first.id.uuidString) differs",
                entity: first.entity,
                id: first.id,
                subject: "\(token)"
            )
        }
        let part = left.author != right.author ? "author" : "time"
        return StoreDifference(.history, "history transaction \(token): its \(part) differs", subject: "\(token)")
    }

    private func transaction(
        _ token: HistoryToken,
        _ transaction: any ReadTransaction
    ) throws -> HistoryTransaction? {
        var found: HistoryTransaction?
        try transaction.enumerateHistory(after: HistoryToken(rawValue: token.rawValue - 1)) {
            found = $0
            return false
        }
        return found?.token == token ? found : nil
    }
}

extension HistoryChange {
    fileprivate func isIdentical(to other: HistoryChange) -> Bool {
        let forms = (CanonicalForm(), CanonicalForm())
        forms.0.begin()
        forms.0.append(self)
        forms.1.begin()
        forms.1.append(other)
        return forms.0.bytes.elementsEqual(forms.1.bytes)
    }
}

extension CanonicalForm {
    /// Writes a history transaction.
    fileprivate func write(_ transaction: HistoryTransaction) {
        write([
            .int(transaction.token.rawValue), .date(transaction.timestamp),
            transaction.author.map(Value.string) ?? .null, .int(Int64(transaction.changes.count)),
        ])
        for change in transaction.changes { append(change) }
    }

    fileprivate func append(_ change: HistoryChange) {
        append(texts: [change.entity])
        append(uuid: change.id)
        switch change.kind {
        case .insert: append(int: 1)
        case .update(let attributes):
            append(int: 2)
            append(texts: attributes)
        case .delete(let tombstone):
            append(int: 3)
            append(texts: tombstone.keys.sorted())
            append(tombstone.keys.sorted().map { tombstone[$0] ?? .null })
        }
    }
}

extension Comparison {
    /// Holds the records against the history that both stores have: the same record may be missing from both, or be left in both,
    /// and everything else would match. What only one of them lacks is a difference of the contents.
    mutating func replayHistory() throws {
        let floor = max(report.a.information.historyFloor, report.b.information.historyFloor)
        let replay = try HistoryReplay(transactions.a, after: floor)
        let isMigrated = try replay.tellsOfMigration || wasMigrated(transactions.a) || wasMigrated(transactions.b)
        let gone = isMigrated ? replay.entitiesBegunAnew : []
        for found in replay.missing where !gone.contains(found.entity) {
            guard try !isThere(found, transactions.b) else { continue }
            note(difference(found, "has stored it, and neither store has it"))
        }
        for found in replay.undeleted where try isThere(found, transactions.b) {
            note(difference(found, "has deleted it, and both stores have it"))
        }
        let entities = schema.entities.map(\.name)
        if !gone.isEmpty {
            let names = gone.sorted().map { entities[$0] }.joined(separator: ", ")
            report.notes.append(
                "history: its changes of \(names) are older than a migration that removed these records"
            )
        }
        let base = zip(entities, replay.base).filter { $1 > 0 }.map { "\($1) of \($0)" }
        guard !base.isEmpty else { return }
        report.notes.append(
            "history: it begins after token \(floor), when the stores already had records (\(base.joined(separator: ", "))); "
                + "these were compared with it as far as it covers them"
        )
    }

    private func isThere(_ found: HistoryReplay.Finding, _ transaction: any ReadTransaction) throws -> Bool {
        try transaction.withRow(entity: found.entity, id: found.id) { _ in }
    }

    private func difference(_ found: HistoryReplay.Finding, _ what: String) -> StoreDifference {
        let name = schema.entities[found.entity].name
        return StoreDifference(
            .history,
            "\(name) \(found.id.uuidString): history transaction \(found.token) \(what)",
            entity: name,
            id: found.id,
            subject: "\(found.token)"
        )
    }

    private func wasMigrated(_ transaction: any ReadTransaction) throws -> Bool {
        try (transaction as? any AuditableTransaction)?.wasMigrated() ?? false
    }
}

extension HistoryReplay {
    /// The entities that lack every record which the history mentions before a present one: a migration removed the entity, and a later one added
    /// another with its name.
    fileprivate var entitiesBegunAnew: Set<Int> {
        let last = Dictionary(grouping: missing, by: \.entity).compactMapValues { $0.map(\.token).max() }
        return Set(last.filter { entity, token in firstPresent[entity].map { $0 > token } ?? true }.keys)
    }
}

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
