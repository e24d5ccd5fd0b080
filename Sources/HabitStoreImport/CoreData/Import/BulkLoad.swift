import Foundation
@_spi(Engines) import HabitStore

/// Fills an empty store in batches that take effect only with the last one. Until then the store is ``StoreRole/backfilling`` and serves no
/// readers, and its backfill state says that an import is unfinished (``UnfinishedImport``). An import that was interrupted starts again from the
/// beginning, or, if it names its kind, with the records that are there.
///
/// Each run first marks the store as its own, and verifies the mark in each transaction. An import that was suspended while another one ran
/// therefore overwrites nothing and removes no acknowledged writes.
struct BulkLoad {
    typealias Batch = [(entity: Int, id: UUID, record: EncodedRecord)]

    /// The number of records per transaction, both of the engine and of the history.
    static let batch = 2_000

    private let store: any ReplicableStore
    private let mark: UnfinishedImport
    /// The number of records stored, by entity.
    private var counts: [Int]

    /// Whether a store can be filled: it is empty or has an unfinished import.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` for the unfinished target of a copy, ``HabitStoreError/Code/notAuthoritative`` for a
    ///   store in a rollout.
    static func isPossible(in store: any ReplicableStore) throws -> Bool {
        try store.replicaRead { try isFillable($0, store) }
    }

    /// Marks the store, and removes the records of an interrupted import.
    ///
    /// - Parameters:
    ///   - kind: what is imported, if the records of an interrupted import of this kind are kept: those that are stored again unchanged cost no
    ///     write, and ``keepOnly(_:)`` removes the others.
    ///   - time: of the import that alone has written to the store and has taken effect, for a store that has served no one; its history begins
    ///     again.
    /// - Throws: ``HabitStoreError/Code/busy`` if the store is not empty; the errors of ``isPossible(in:)``.
    init(_ store: any ReplicableStore, continuing kind: String? = nil, reopening time: Date? = nil) throws {
        self.store = store
        mark = UnfinishedImport(kind: kind)
        let mark = mark
        let entities = store.schema.entities.indices
        counts = try store.replicate { transaction in
            let isReopened = try time.map { try Self.isUntouched(transaction, since: $0) } ?? false
            guard try isReopened || Self.isFillable(transaction, store) else { throw Self.disturbed }
            if isReopened { try transaction.pruneHistory(through: try transaction.information().token) }
            let isContinued =
                try isReopened || kind != nil && UnfinishedImport(state: transaction.backfillState())?.kind == kind
            try transaction.setRole(.backfilling, epoch: try transaction.information().epoch)
            try transaction.setBackfillState(mark.state)
            return try isContinued ? entities.map { try transaction.count(entity: $0) } : []
        }
        guard counts.isEmpty else { return }
        counts = entities.map { _ in 0 }
        for entity in entities { try remove(from: entity) { _ in true } }
    }

    /// Whether the store's history consists of the import at `time` alone.
    static func isUntouched(_ store: any ReplicableStore, since time: Date) throws -> Bool {
        try store.replicaRead { try isUntouched($0, since: time) }
    }

    private static func isUntouched(_ replica: any ReplicaSnapshot, since time: Date) throws -> Bool {
        let information = try replica.information()
        guard information.role == .authoritative, information.epoch == 0 else { return false }
        var isOwn = false
        try replica.enumerateHistory(after: information.historyFloor) { transaction in
            isOwn = transaction.timestamp == time
            return isOwn
        }
        return isOwn
    }

    /// - Throws: ``HabitStoreError/Code/busy`` if another process has taken the store over.
    func requireOwn() throws { try store.replicate { try Self.requireOwn($0, mark) } }

    /// Removes the records of an interrupted import that this one has not stored.
    ///
    /// - Parameter told: the records that it has stored, by the index of their entities.
    mutating func keepOnly(_ told: [Int: SpilledIdentifiers]) throws {
        for entity in counts.indices where counts[entity] != told[entity]?.count ?? 0 {
            var kept: Set<UUID> = []
            try told[entity]?.forEachBatch { kept.formUnion($0) }
            try remove(from: entity) { !kept.contains($0) }
            counts[entity] = kept.count
        }
    }

    /// Removes records of an entity, in batches.
    private func remove(from entity: Int, _ isRemoved: (UUID) -> Bool) throws {
        var last: UUID?
        var isAtEnd = false
        while !isAtEnd {
            try store.replicate { transaction in
                try Self.requireOwn(transaction, mark)
                var ids: [UUID] = []
                try transaction.enumerate(entity: entity, after: last) { id, _ in
                    ids.append(id)
                    return ids.count < Self.batch
                }
                for id in ids where isRemoved(id) { try transaction.remove(entity: entity, id: id) }
                last = ids.last
                isAtEnd = ids.count < Self.batch
            }
        }
    }

    /// Stores a batch.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if another process has taken the store over.
    mutating func put(_ batch: Batch) throws {
        var counts = counts
        try store.replicate { try put(batch, $0, &counts) }
        self.counts = counts
        ImportCrashPoint.reach("filling.batch")
    }

    /// Stores the last batch, calls `body` to write the history in the same transaction, and makes the store authoritative.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if another process has taken the store over or removed records.
    mutating func finish(_ batch: Batch, _ body: (any ReplicaTransaction) throws -> Void) throws {
        var counts = counts
        try store.replicate { transaction in
            try put(batch, transaction, &counts)
            for (entity, count) in counts.enumerated() where try transaction.count(entity: entity) != count {
                throw Self.disturbed
            }
            try body(transaction)
            try transaction.setRole(.authoritative, epoch: try transaction.information().epoch)
            try transaction.setBackfillState(nil)
        }
        self.counts = counts
    }

    private func put(_ batch: Batch, _ transaction: any ReplicaTransaction, _ counts: inout [Int]) throws {
        try Self.requireOwn(transaction, mark)
        for item in batch {
            let known = try transaction.record(entity: item.entity, id: item.id)
            if known == nil { counts[item.entity] += 1 }
            if known != item.record { try transaction.put(entity: item.entity, id: item.id, item.record) }
        }
    }

    private static func requireOwn(_ transaction: any ReplicaTransaction, _ mark: UnfinishedImport) throws {
        guard try transaction.information().role == .backfilling,
            try UnfinishedImport(state: transaction.backfillState()) == mark
        else { throw disturbed }
    }

    private static func isFillable(_ replica: any ReplicaSnapshot, _ store: any ReplicableStore) throws -> Bool {
        let (information, state) = (try replica.information(), try replica.backfillState())
        let path = (store as? any MaintainableStore)?.path
        try information.requireImportable(path: path)
        switch information.role {
        case .backfilling:
            guard UnfinishedImport(state: state) == nil else { return true }
            throw HabitStoreError(
                .unsupported,
                "a copy into this store is not finished; finish it with `\(OperatorCommand.name) copy`, or import into a new store",
                at: .init(path: path)
            )
        case .authoritative:
            guard information.token == .zero else { return false }
            return try store.schema.entities.indices.allSatisfy { try replica.count(entity: $0) == 0 }
        case .standby, .sealed: return false
        }
    }

    private static let disturbed = HabitStoreError(
        .busy,
        "another writer changed the store while it was being filled; nothing more is stored: make sure that nothing else "
            + "writes to it, or import into a new store"
    )

    /// Adds insertions to the history, by the index of their entities, in as many transactions as needed.
    ///
    /// - Parameter further: additional changes for the last transaction.
    static func tell(
        _ records: [Int: SpilledIdentifiers],
        and further: [HistoryChange] = [],
        author: String,
        at timestamp: Date,
        _ schema: Schema,
        _ transaction: any ReplicaTransaction
    ) throws {
        func append(_ changes: [HistoryChange]) throws {
            if !changes.isEmpty { try transaction.append(changes, author: author, at: timestamp) }
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

#if CRASH_POINTS
import Foundation
import Synchronization

/// Named points where tests kill the process: `HABITSTORE_CRASH_POINT=preferences.committed` kills it at that point. Only debug builds have
/// them.
package enum ImportCrashPoint {
    private static let wanted: (name: String, count: Int)? = {
        guard let text = ProcessInfo.processInfo.environment["HABITSTORE_CRASH_POINT"] else { return nil }
        let parts = text.split(separator: ":")
        guard let name = parts.first else { return nil }
        return (String(name), parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }()
    private static let reached = Atomic<Int>(0)

    package static func reach(_ name: String) {
        guard let wanted, wanted.name == name, reached.add(1, ordering: .relaxed).newValue == wanted.count else {
            return
        }
        kill(getpid(), SIGKILL)
    }
}
#else
/// Named points where tests kill the process; they do nothing in release builds.
package enum ImportCrashPoint {
    @inline(__always) package static func reach(_ name: StaticString) {}
}
#endif
