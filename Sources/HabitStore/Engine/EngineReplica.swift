import Foundation

/// One moment of an engine's store, for replication.
class EngineReplicaSnapshot<Snapshot: EngineSnapshot>: ReplicaSnapshot {
    private let lent: Snapshot
    let schema: Schema
    private let thread = TransactionThread()

    init(_ snapshot: Snapshot, _ schema: Schema) {
        lent = snapshot
        self.schema = schema
    }

    /// The snapshot, during the transaction and on its thread.
    var snapshot: Snapshot {
        get throws {
            try thread.require()
            return lent
        }
    }

    /// - Throws: ``HabitStoreError/Code/transactionEnded`` when the transaction has ended, or belongs to another thread.
    final func requireOpen() throws { try thread.require() }

    /// The transaction ends: what was handed out of it refuses everything from now on.
    func end() { thread.end() }

    func information() throws -> StoreInformation { try StoreBookkeeping.information(snapshot) }

    func position() throws -> StorePosition { try StoreBookkeeping.position(snapshot) }

    func count(entity: Int) throws -> Int { try snapshot.count(snapshot.plan(BoundQuery(entity: entity))) }

    func enumerate(entity: Int, after id: UUID?, _ body: (UUID, EncodedRecord) throws -> Bool) throws {
        var query = BoundQuery(entity: entity)
        if let id {
            let path = BoundPath(variable: 0, hops: [])
            let identifier = BoundExpression.attribute(path, position: 0, kind: .uuid, isOptional: false)
            query.filter = .compare(.greater, identifier, .literal(.uuid(id)))
        }
        try QueryRunner(snapshot, schema).run(query) { row in
            let record = try row.encoded()
            return try body(try row.nextUUID(), record)
        }
    }

    func record(entity: Int, id: UUID) throws -> EncodedRecord? {
        try snapshot.withRow(entity: entity, id: id) { try $0.encoded() }
    }

    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try StoreBookkeeping.history(snapshot, after: token, body)
    }

    func backfillState() throws -> String? { try snapshot.metadata(MetadataKey.backfill) }

    func rolloutState() throws -> String? { try snapshot.metadata(MetadataKey.rollout) }

    func evidence(from number: Int64?, limit: Int) throws -> [EvidenceRow] {
        try snapshot.evidence(from: number, limit: limit)
    }
}

/// The write transaction of a replication into an engine's store.
final class EngineReplicaTransaction<Writer: EngineWriter>: EngineReplicaSnapshot<Writer>, ReplicaTransaction {
    private let ledger: DigestLedger<Writer>

    override init(_ writer: Writer, _ schema: Schema) {
        ledger = DigestLedger(writer, schema)
        super.init(writer, schema)
    }

    /// Writes what is left to write; the last thing before the commit.
    func finish() throws { try ledger.finish() }

    func apply(_ changes: [ReplicaChange]) throws {
        if Writer.waitsForAnswers { try expect(changes) }
        for change in changes {
            if let record = change.record {
                try put(entity: change.entity, id: change.id, record)
            } else {
                try remove(entity: change.entity, id: change.id)
            }
        }
    }

    private func expect(_ changes: [ReplicaChange]) throws {
        for (entity, changes) in Dictionary(grouping: changes, by: \.entity) {
            let batch = RecordBatch(schema.layouts[entity])
            for record in changes.compactMap(\.record) { record.withView(schema.layouts[entity]) { batch.append($0) } }
            // Unique values and references need no lookup: a copy stores records unchanged.
            try snapshot.expect(ExpectedQuestions(entity: entity, records: batch, unique: [], targets: [:]))
        }
    }

    func put(entity: Int, id: UUID, _ record: EncodedRecord) throws {
        try requireOpen()
        let layout = schema.entities[entity].layout
        // A store of the first versions may have kept other forms of text; what is written here is in NFC, and says so.
        let record = try record.inNFC(layout)
        try record.withView(layout) { view in
            if try ledger.insert(entity: entity, id: id, record: view) { return }
            guard let old = try self.record(entity: entity, id: id), old != record else { return }
            try old.withView(layout) {
                try ledger.update(entity: entity, id: id, record: view, replacing: $0)
            }
        }
    }

    func remove(entity: Int, id: UUID) throws {
        guard let old = try record(entity: entity, id: id) else { return }
        try old.withView(schema.entities[entity].layout) {
            try ledger.delete(entity: entity, id: id, record: $0)
        }
    }

    func append(_ transaction: HistoryTransaction) throws {
        let last = try StoreBookkeeping.lastToken(snapshot)
        guard transaction.token == last.next else {
            throw HabitStoreError(
                .internalInconsistency,
                "history transaction \(transaction.token) cannot follow token \(last): one is missing or was applied"
            )
        }
        try snapshot.append(transaction)
    }

    func adopt(lineage: UUID, floor: HistoryToken) throws {
        try snapshot.pruneHistory(through: Int64.max)
        try snapshot.setMetadata(MetadataKey.lineage, lineage.uuidString)
        try snapshot.setMetadata(MetadataKey.historyFloor, String(floor.rawValue))
        try snapshot.setMetadata(MetadataKey.lastToken, String(floor.rawValue))
    }

    func setRole(_ role: StoreRole, epoch: Int) throws {
        try StoreBookkeeping.setRole(snapshot, role)
        try snapshot.setMetadata(MetadataKey.epoch, String(epoch))
    }

    func setBackfillState(_ state: String?) throws { try snapshot.setMetadata(MetadataKey.backfill, state) }

    func setRolloutState(_ state: String?) throws { try snapshot.setMetadata(MetadataKey.rollout, state) }

    func pruneHistory(through token: HistoryToken) throws {
        try StoreBookkeeping.pruneHistory(snapshot, through: token)
    }

    func addEvidence(_ rows: [EvidenceRow], replacingFrom number: Int64?) throws {
        try snapshot.addEvidence(rows, replacingFrom: number)
    }
}

@_spi(Engines) extension EngineBackedStore {
    /// Runs `body` over one moment, also while a copy into the store is not finished.
    public func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R {
        try core.locating { try core.engine.read { try run(body, $0) } }
    }

    /// Runs `body`, which needs the bookkeeping only, over one moment.
    public func replicaBookkeeping<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R {
        try core.locating { try core.engine.readBookkeeping { try run(body, $0) } }
    }

    private func run<R>(_ body: (any ReplicaSnapshot) throws -> R, _ snapshot: Engine.Snapshot) throws -> R {
        try core.requireUnmigrated(snapshot)
        let transaction = EngineReplicaSnapshot(snapshot, schema)
        defer { transaction.end() }
        return try body(transaction)
    }

    /// Runs `body` over one moment at which a condition holds.
    public func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R {
        try core.read(while: condition, body)
    }

    /// Runs `body` in a write transaction of the replication.
    public func replicate<R>(_ body: (any ReplicaTransaction) throws -> R) throws -> R {
        try core.liveQueries.follow {
            try core.locating {
                try core.engine.write { writer in
                    try core.requireUnmigrated(writer)
                    let transaction = EngineReplicaTransaction(writer, schema)
                    defer { transaction.end() }
                    let result = try body(transaction)
                    try transaction.finish()
                    return result
                }
            }
        }
    }

    /// Runs `body` in a write transaction, under the terms of a caller that keeps the store equal to another one.
    @discardableResult
    public func write<R>(
        author: String?,
        under terms: WriteTerms,
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R {
        try core.write(author: author, under: terms, body)
    }
}
