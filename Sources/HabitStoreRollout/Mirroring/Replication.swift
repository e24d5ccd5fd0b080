import Foundation
import HabitStore

/// Carrying over what a store's history has behind a token.
enum Replication {
    /// What was carried over.
    struct Amount {
        var records: Int
        var transactions: Int
    }

    /// Gives every record that changed behind `token` its state at the source's moment, and appends the history
    /// transactions with their tokens. The replica then holds what the source holds, when it was at `token` before; what
    /// history the source has forgotten, it forgets too.
    ///
    /// - Parameter progress: is called for each change and each transaction.
    static func carry(
        from source: any ReplicaSnapshot,
        to replica: any ReplicaTransaction,
        behind token: HistoryToken,
        schema: Schema,
        progress: () -> Void = {}
    ) throws -> Amount {
        let records = try apply(source, to: replica, behind: token, schema: schema, progress: progress)
        var amount = Amount(records: records, transactions: 0)
        try source.enumerateHistory(after: token) { transaction in
            try replica.append(transaction)
            progress()
            amount.transactions += 1
            return true
        }
        let floor = try source.information().historyFloor
        if try replica.information().historyFloor < floor {
            try replica.pruneHistory(through: floor)
            CrashPoint.reach("prune.mirror")
        }
        return amount
    }

    /// Gives every record that changed behind `token` its state at the source's moment.
    ///
    /// - Returns: how many records that were.
    static func apply(
        _ source: any ReplicaSnapshot,
        to replica: any ReplicaTransaction,
        behind token: HistoryToken,
        schema: Schema,
        progress: () -> Void = {}
    ) throws -> Int {
        struct Key: Hashable {
            let entity: String
            let id: UUID
        }
        var seen: Set<Key> = []
        try source.enumerateHistory(after: token) { transaction in
            for change in transaction.changes {
                progress()
                guard seen.insert(Key(entity: change.entity, id: change.id)).inserted else { continue }
                let entity = try schema.position(ofEntity: change.entity)
                if let record = try source.record(entity: entity, id: change.id) {
                    try replica.put(entity: entity, id: change.id, record)
                } else {
                    try replica.remove(entity: entity, id: change.id)
                }
            }
            return true
        }
        return seen.count
    }

    /// Whether two stores have the same transaction at a token; also where one of them has forgotten it.
    ///
    /// Two stores of one lineage part when one of them is replaced by an older copy and then written to.
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
