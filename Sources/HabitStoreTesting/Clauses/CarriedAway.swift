import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// The parts of a transaction that a closure kept past its end.
///
/// `@unchecked`: the test carries it to other threads, as an app may do by mistake.
final class CarriedAway: @unchecked Sendable {
    private let reading: (any ReadTransaction)?
    private let replica: (any ReplicaSnapshot)?
    private let cursor: (any AuditCursor)?
    private let fetch: PreparedFetch?

    /// Takes everything that a transaction hands out.
    init(_ transaction: any ReadTransaction) throws {
        reading = transaction
        replica = nil
        fetch = try transaction.prepare(FetchDescriptor<Tag>())
        let entity = try transaction.schema.position(of: Tag.self)
        cursor = try (transaction as? any AuditableTransaction)?.auditCursor(entity: entity, in: .all)
        _ = try cursor?.next()
    }

    /// Takes a replication's transaction.
    init(_ transaction: any ReplicaSnapshot) {
        replica = transaction
        (reading, cursor, fetch) = (nil, nil, nil)
    }

    /// Uses all of it.
    ///
    /// - Throws: ``ContractViolation`` if any use is not refused.
    func requireRefusal() throws {
        if let reading, let fetch { try requireRefusal(reading, fetch) }
        if let writing = reading as? any WriteTransaction { try requireRefusal(writing) }
        if let cursor { try expectError(.transactionEnded) { try cursor.next() } }
        if let replica { try requireRefusal(replica) }
        if let replica = replica as? any ReplicaTransaction { try requireRefusal(replica) }
    }

    /// An ended transaction's statistics can be read; reading them once ended the process without a message.
    func requireStatistics() throws {
        guard let reading else { return }
        try expect(reading.statistics.examined >= 0, "the statistics of an ended transaction are readable")
    }

    private func requireRefusal(_ transaction: any ReadTransaction, _ fetch: PreparedFetch) throws {
        try expectError(.transactionEnded) { try transaction.all(Tag.self) }
        try expectError(.transactionEnded) { try transaction.model(Tag.self, id: UUID()) }
        try expectError(.transactionEnded) { try transaction.enumerateRows(fetch) { _ in true } }
        try expectError(.transactionEnded) { try transaction.count(fetch) }
        try expectError(.transactionEnded) { try transaction.explain(fetch) }
        try expectError(.transactionEnded) { try transaction.currentToken() }
        try expectError(.transactionEnded) { try transaction.information() }
        try expectError(.transactionEnded) { try transaction.fetchHistory(after: .zero) }
        try expectEqual(transaction.expectedCount(fetch), nil, "the expected count")
        if let transaction = transaction as? any AuditableTransaction {
            try expectError(.transactionEnded) { try transaction.auditCursor(entity: 0, in: .all) }
            try expectError(.transactionEnded) { try transaction.keptDigests(entity: 0) }
        }
    }

    private func requireRefusal(_ transaction: any WriteTransaction) throws {
        try expectError(.transactionEnded) { try transaction.insert(Tag(name: "carried")) }
        try expectError(.transactionEnded) { try transaction.insert(contentsOf: [Tag(name: "carried")]) }
        try expectError(.transactionEnded) { try transaction.save(Tag(name: "carried")) }
        try expectError(.transactionEnded) { try transaction.delete(Tag.self, id: UUID()) }
        try expectError(.transactionEnded) { try transaction.pruneHistory(through: .zero) }
    }

    private func requireRefusal(_ replica: any ReplicaSnapshot) throws {
        try expectError(.transactionEnded) { try replica.information() }
        try expectError(.transactionEnded) { try replica.count(entity: 0) }
        try expectError(.transactionEnded) { try replica.enumerate(entity: 0, after: nil) { _, _ in true } }
        try expectError(.transactionEnded) { try replica.record(entity: 0, id: UUID()) }
        try expectError(.transactionEnded) { try replica.enumerateHistory(after: .zero) { _ in true } }
        try expectError(.transactionEnded) { try replica.backfillState() }
        try expectError(.transactionEnded) { try replica.rolloutState() }
    }

    private func requireRefusal(_ replica: any ReplicaTransaction) throws {
        try expectError(.transactionEnded) { try replica.remove(entity: 0, id: UUID()) }
        try expectError(.transactionEnded) { try replica.adopt(lineage: UUID(), floor: .zero) }
        try expectError(.transactionEnded) { try replica.setRole(.authoritative, epoch: 0) }
        try expectError(.transactionEnded) { try replica.setBackfillState(nil) }
        try expectError(.transactionEnded) { try replica.setRolloutState(nil) }
        try expectError(.transactionEnded) { try replica.pruneHistory(through: .zero) }
    }
}
