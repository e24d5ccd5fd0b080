import Foundation

/// The write transaction of an engine: a snapshot that sees its own changes.
@_spi(Engines) public protocol EngineWriter: EngineSnapshot {
    /// Sends expected questions together. This affects only the speed.
    func expect(_ questions: ExpectedQuestions) throws

    /// The identifiers, ascending, of the records that have a record's values in some attributes, of which none is nil.
    ///
    /// - Returns: nil where this was not expected, and has to be asked.
    func expectedIdentifiers(entity: Int, attributes: [Int], of record: RecordView) throws -> [UUID]?

    /// Stores a record under an identifier that has none yet.
    ///
    /// - Returns: false, and nothing is changed, when there is one.
    func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool

    /// Stores the records of a batch, in whatever order suits the engine, under identifiers that have none yet.
    ///
    /// - Parameter batch: no two of its records have the same identifier.
    /// - Returns: nil; or the place of the first record of the batch whose identifier is taken. What of the batch was stored
    ///   then is open: the transaction is undone.
    func insert(entity: Int, _ batch: RecordBatch) throws -> Int?

    /// Replaces a record; `old` is what is stored.
    func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws

    /// Removes a record; `old` is what is stored.
    func delete(entity: Int, id: UUID, record old: RecordView) throws

    /// Sets a value of the store's own bookkeeping, or removes it.
    func setMetadata(_ key: String, _ value: String?) throws

    /// Appends to the history. Tokens arrive ascending.
    func append(_ transaction: HistoryTransaction) throws

    /// Forgets the history up to and including a number.
    func pruneHistory(through token: Int64) throws

    /// Stores a digest. Replaces one with the same first identifier.
    func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws

    /// Forgets all kept digests of an entity.
    func removeDigestLeaves(entity: Int) throws

    /// Adds lines of a rollout's evidence, under numbers that have none yet. Only asked of engines whose stores several machines
    /// reach.
    ///
    /// - Parameter number: from which on lines are removed before; nil for none.
    func addEvidence(_ rows: [EvidenceRow], replacingFrom number: Int64?) throws
}

@_spi(Engines) extension EngineWriter {
    /// None is kept.
    public func addEvidence(_ rows: [EvidenceRow], replacingFrom number: Int64?) throws {
        throw HabitStoreError.keepsNoEvidence
    }

    /// Each question is answered when it is asked.
    public func expect(_ questions: ExpectedQuestions) throws {}

    /// None was expected.
    public func expectedIdentifiers(entity: Int, attributes: [Int], of record: RecordView) throws -> [UUID]? { nil }

    /// Stores them one by one.
    public func insert(entity: Int, _ batch: RecordBatch) throws -> Int? {
        var taken: Int?
        for place in batch.placesByIdentifier
        where try !insert(entity: entity, id: batch.identifier(at: place), record: batch[place]) {
            taken = min(taken ?? Int.max, place)
        }
        return taken
    }
}
