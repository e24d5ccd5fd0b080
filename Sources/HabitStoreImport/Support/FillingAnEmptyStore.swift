import Foundation
import HabitStore

/// Filling an empty store in batches, of which nothing counts before the last: as long as the history tells of nothing, the
/// store is as good as empty, and whoever was stopped begins anew.
enum FillingAnEmptyStore {
    /// How many records are stored in one transaction of the engine, and told of in one of the history.
    static let batch = 2_000

    /// Removes what somebody has left who was stopped.
    static func clear(_ store: any ReplicableStore) throws {
        for entity in store.schema.entities.indices {
            while true {
                var ids: [UUID] = []
                try store.replicaRead { replica in
                    try replica.enumerate(entity: entity, after: nil) { id, _ in
                        ids.append(id)
                        return ids.count < batch
                    }
                }
                guard !ids.isEmpty else { break }
                try store.replicate { transaction in
                    for id in ids { try transaction.remove(entity: entity, id: id) }
                }
            }
        }
    }

    /// Tells the history of new records, by the positions of their entities, in as many transactions as it takes.
    ///
    /// - Parameter further: what is told of in the last of them.
    static func tell(
        _ records: [Int: [UUID]],
        and further: [HistoryChange] = [],
        author: String,
        at timestamp: Date,
        _ schema: Schema,
        _ transaction: any ReplicaTransaction
    ) throws {
        func append(_ changes: [HistoryChange]) throws {
            guard !changes.isEmpty else { return }
            let token = HistoryToken(rawValue: try transaction.information().token.rawValue + 1)
            try transaction.append(
                HistoryTransaction(token: token, timestamp: timestamp, author: author, changes: changes)
            )
        }
        var pending: [HistoryChange] = []
        for (entity, ids) in records.sorted(by: { $0.key < $1.key }) {
            let name = schema.entities[entity].name
            for id in ids {
                pending.append(HistoryChange(entity: name, id: id, kind: .insert))
                guard pending.count == batch else { continue }
                try append(pending)
                pending = []
            }
        }
        try append(pending + further)
    }
}
