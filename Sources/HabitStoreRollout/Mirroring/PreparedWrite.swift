import Foundation
@_spi(Engines) import HabitStore

/// The records that a write changed: enough to apply it to another store without reading the history.
struct WrittenRecords: Sendable {
    /// Writes with more changes are read from the history instead of kept in memory twice.
    static let maximumChanges = 64

    let transaction: HistoryTransaction
    /// The records' states after the write.
    let changes: [ReplicaChange]

    /// - Parameter source: the authoritative store, inside the write and after its changes.
    /// - Returns: nil for a write with many changes.
    init?(_ transaction: HistoryTransaction, in source: any ReplicaSnapshot, schema: Schema) throws {
        guard transaction.changes.count <= Self.maximumChanges else { return nil }
        self.transaction = transaction
        changes = try transaction.changes.map { change in
            let entity = try schema.position(ofEntity: change.entity)
            return ReplicaChange(entity: entity, id: change.id, try source.record(entity: entity, id: change.id))
        }
    }

    /// Applies the write to a store that has everything before it.
    func apply(to replica: any ReplicaTransaction) throws {
        try replica.apply(changes)
        try replica.append(transaction)
    }
}

/// A write that is about to be committed in the authoritative store, for the mirror to apply meanwhile.
struct PreparedWrite: Sendable {
    let records: WrittenRecords
    /// The authoritative store's lineage.
    let lineage: UUID
    /// The authoritative store's epoch.
    let epoch: Int

    var transaction: HistoryTransaction { records.transaction }

    /// Applies the write to a store that has everything before it.
    ///
    /// - Returns: false, with nothing changed, if the store is at another token, or is not a mirror of this epoch.
    func apply(to replica: any ReplicaTransaction) throws -> Bool {
        let mirror = try replica.information()
        guard mirror.lineage == lineage, mirror.role == .standby, mirror.epoch <= epoch,
            mirror.token.rawValue == transaction.token.rawValue - 1, try replica.backfillState() == nil
        else { return false }
        try records.apply(to: replica)
        return true
    }
}
