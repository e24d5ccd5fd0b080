import Foundation
@_spi(Engines) import HabitStore

/// The records that a write leaves: enough to apply it to another store without reading it back.
struct WrittenRecords: Sendable {
    /// More changes than these are read back from the history, and not kept in memory twice.
    static let maximumChanges = 64

    let transaction: HistoryTransaction
    /// The records' states after the write.
    let changes: [ReplicaChange]

    /// - Parameter source: the authoritative store inside of the write, after its changes.
    /// - Returns: nil for a write of many changes.
    init?(_ transaction: HistoryTransaction, in source: any ReplicaSnapshot, schema: Schema) throws {
        guard transaction.changes.count <= Self.maximumChanges else { return nil }
        self.transaction = transaction
        changes = try transaction.changes.map { change in
            let entity = try schema.position(ofEntity: change.entity)
            return ReplicaChange(entity: entity, id: change.id, try source.record(entity: entity, id: change.id))
        }
    }

    /// Applies the write to a store that stands right before it.
    func apply(to replica: any ReplicaTransaction) throws {
        try replica.apply(changes)
        try replica.append(transaction)
    }
}

/// A write that is about to be committed in the authoritative store, for the mirror to apply meanwhile.
struct PreparedWrite: Sendable {
    let records: WrittenRecords
    /// The authoritative store's.
    let lineage: UUID
    /// The authoritative store's.
    let epoch: Int

    var transaction: HistoryTransaction { records.transaction }

    /// Applies the write to a store that stands right before it.
    ///
    /// - Returns: false, and nothing is changed, where the store stands elsewhere, or is no mirror of this epoch.
    func apply(to replica: any ReplicaTransaction) throws -> Bool {
        let mirror = try replica.information()
        guard mirror.lineage == lineage, mirror.role == .standby, mirror.epoch <= epoch,
            mirror.token.rawValue == transaction.token.rawValue - 1, try replica.backfillState() == nil
        else { return false }
        try records.apply(to: replica)
        return true
    }
}
