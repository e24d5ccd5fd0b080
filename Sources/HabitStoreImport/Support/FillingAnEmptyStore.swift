import Foundation
@_spi(Engines) import HabitStore

/// Filling an empty store in batches, of which nothing counts before the last: as long as the history tells of nothing, the
/// store is as good as empty, and whoever was stopped begins anew.
///
/// Nobody else is meant to be at work in the store. Whoever is all the same is noticed: each transaction asks whether the history
/// still tells of nothing, and the last one whether all is there that was stored. So an import that slept while another one was
/// made writes over nothing, and none removes what was acknowledged.
struct FillingAnEmptyStore {
    typealias Batch = [(entity: Int, id: UUID, record: EncodedRecord)]

    /// How many records are stored in one transaction of the engine, and told of in one of the history.
    static let batch = 2_000

    private let store: any ReplicableStore
    /// How many records of each entity were stored.
    private var counts: [Int]

    /// Removes what somebody has left who was stopped.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` where the history tells of something.
    init(_ store: any ReplicableStore) throws {
        self.store = store
        counts = Array(repeating: 0, count: store.schema.entities.count)
        for entity in store.schema.entities.indices {
            while true {
                var ids: [UUID] = []
                try store.replicaRead { replica in
                    try replica.enumerate(entity: entity, after: nil) { id, _ in
                        ids.append(id)
                        return ids.count < Self.batch
                    }
                }
                guard !ids.isEmpty else { break }
                try store.replicate { transaction in
                    try Self.requireUntold(transaction)
                    for id in ids { try transaction.remove(entity: entity, id: id) }
                }
            }
        }
    }

    /// Stores a batch.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` where somebody else has written meanwhile.
    mutating func put(_ batch: Batch) throws {
        var counts = counts
        try store.replicate { try Self.put(batch, $0, &counts) }
        self.counts = counts
    }

    /// Stores the last batch, and has `body` tell of everything in the same transaction.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` where somebody else has written, or removed, meanwhile.
    mutating func finish(_ batch: Batch, _ body: (any ReplicaTransaction) throws -> Void) throws {
        var counts = counts
        try store.replicate { transaction in
            try Self.put(batch, transaction, &counts)
            for (entity, count) in counts.enumerated() where try transaction.count(entity: entity) != count {
                throw Self.disturbed
            }
            try body(transaction)
        }
        self.counts = counts
    }

    private static func put(_ batch: Batch, _ transaction: any ReplicaTransaction, _ counts: inout [Int]) throws {
        try requireUntold(transaction)
        for item in batch {
            if try transaction.record(entity: item.entity, id: item.id) == nil { counts[item.entity] += 1 }
            try transaction.put(entity: item.entity, id: item.id, item.record)
        }
    }

    private static func requireUntold(_ transaction: any ReplicaTransaction) throws {
        guard try transaction.information().token == .zero else { throw disturbed }
    }

    private static let disturbed = HabitStoreError(
        .busy,
        "somebody else has written to the store while it was being filled; nothing more is stored: have it to yourself, or import "
            + "into a new store"
    )

    /// Tells the history of new records, by the positions of their entities, in as many transactions as it takes.
    ///
    /// - Parameter further: what is told of in the last of them.
    static func tell(
        _ records: [Int: SpilledIdentifiers],
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
            try ids.forEachBatch { ids in
                for id in ids {
                    pending.append(HistoryChange(entity: name, id: id, kind: .insert))
                    guard pending.count == batch else { continue }
                    try append(pending)
                    pending = []
                }
            }
        }
        try append(pending + further)
    }
}
