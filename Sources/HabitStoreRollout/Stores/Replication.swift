import Foundation
@_spi(Engines) import HabitStore

/// Applies a store's history after a token to another store.
enum Replication {
    /// How much was applied.
    struct Amount {
        var records: Int
        var transactions: Int
    }

    /// Gives every record that changed after the replica's token its state in the source's snapshot, and appends the history transactions with their
    /// tokens. The replica then equals the source, and drops the history that the source has dropped.
    ///
    /// - Parameters:
    ///   - origin: the source's information.
    ///   - information: the replica's information, from before.
    ///   - progress: called for each change.
    static func carry(
        from source: any ReplicaSnapshot,
        _ origin: StoreInformation,
        to replica: any ReplicaTransaction,
        _ information: StoreInformation,
        schema: Schema,
        progress: () -> Void = {}
    ) throws -> Amount {
        var amount = Amount(records: 0, transactions: 0)
        amount.records = try walk(source, replica, information.token, schema, progress) { transaction in
            try replica.append(transaction)
            amount.transactions += 1
        }
        if information.historyFloor < origin.historyFloor {
            try replica.pruneHistory(through: origin.historyFloor)
            CrashPoint.reach("prune.mirror")
        }
        return amount
    }

    /// Gives every record that changed after `token` its state in the source's snapshot.
    ///
    /// - Returns: how many records changed.
    static func apply(
        _ source: any ReplicaSnapshot,
        to replica: any ReplicaTransaction,
        behind token: HistoryToken,
        schema: Schema
    ) throws -> Int {
        try walk(source, replica, token, schema, {}) { _ in }
    }

    private static func walk(
        _ source: any ReplicaSnapshot,
        _ replica: any ReplicaTransaction,
        _ token: HistoryToken,
        _ schema: Schema,
        _ progress: () -> Void,
        _ body: (HistoryTransaction) throws -> Void
    ) throws -> Int {
        struct Key: Hashable {
            let entity: String
            let id: UUID
        }
        var seen: Set<Key> = []
        var waiting: [ReplicaChange] = []
        func apply() throws {
            try replica.apply(waiting)
            waiting.removeAll(keepingCapacity: true)
        }
        try source.enumerateHistory(after: token) { transaction in
            for change in transaction.changes {
                progress()
                guard seen.insert(Key(entity: change.entity, id: change.id)).inserted else { continue }
                let entity = try schema.position(ofEntity: change.entity)
                let record = try source.record(entity: entity, id: change.id)
                waiting.append(ReplicaChange(entity: entity, id: change.id, record))
                if waiting.count == mostWaiting { try apply() }
            }
            try apply()
            try body(transaction)
            return true
        }
        return seen.count
    }

    /// How many records to collect before they are written together.
    private static let mostWaiting = 1_000

    /// Whether two stores have the same transaction at a token, or one of them no longer has it.
    ///
    /// Two stores of one lineage diverge if one is replaced by an older copy and then written to.
    static func agree(_ a: any ReplicaSnapshot, _ b: any ReplicaSnapshot, at token: HistoryToken) throws -> Bool {
        guard let first = try transaction(a, token), let second = try transaction(b, token) else { return true }
        return first == second
    }

    static func transaction(_ snapshot: any ReplicaSnapshot, _ token: HistoryToken) throws -> HistoryTransaction? {
        guard token > .zero, token > (try snapshot.information().historyFloor) else { return nil }
        var found: HistoryTransaction?
        try snapshot.enumerateHistory(after: HistoryToken(rawValue: token.rawValue - 1)) { transaction in
            if transaction.token == token { found = transaction }
            return false
        }
        return found
    }
}

extension StorePair {
    /// Whether a store has diverged from the serving one: it was restored from a copy, is another user's, or a process that was suspended wrote to it
    /// without an acknowledgement. No mirror can follow from there.
    func hasParted(_ other: ReplicaStatus, from serving: ReplicaStatus) -> Bool {
        guard other.role != .backfilling, other.epoch < serving.epoch || other.role == .standby, other.token > .zero
        else { return false }
        guard other.lineage == serving.lineage else { return true }
        if other.token > serving.token, other.role != .standby { return true }
        let token = min(other.token, serving.token)
        let agree = try? read(serving.engine) { a, _ in
            try read(other.engine) { b, _ in
                try a.replicaRead { a in try b.replicaRead { try Replication.agree(a, $0, at: token) } }
            }
        }
        return agree == false
    }
}
