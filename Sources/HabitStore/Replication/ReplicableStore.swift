import Foundation

/// A store that can be kept equal to another one: records and history arrive as they are, past uniqueness, delete rules
/// and references, since what is carried across must stay what it was.
public protocol ReplicableStore: HabitStore {
    /// Runs `body` over one moment, also while a copy into the store is not finished.
    @_spi(Engines) func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R

    /// Runs `body` in a write transaction of the replication.
    @_spi(Engines) func replicate<R>(_ body: (any ReplicaTransaction) throws -> R) throws -> R

    /// Runs `body` over one moment at which a condition holds, as `read(_:)` does.
    ///
    /// - Throws: also ``ReadRefused``, before `body` is told anything, when the condition does not hold once the moment is chosen,
    ///   or the store is the unfinished target of a copy.
    @_spi(Engines) func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R

    /// Runs `body` in a write transaction, as `write(author:_:)` does, under the terms of whoever keeps the store equal to
    /// another one.
    ///
    /// - Throws: also what the terms throw; and ``HabitStoreError/Code/notAuthoritative``, before `body` runs, when the
    ///   store is of another epoch.
    @discardableResult
    @_spi(Engines) func write<R>(
        author: String?,
        under terms: WriteTerms,
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R

    /// Holds the digests that the store keeps against its records, as they are in the file. An empty result is a clean
    /// bill; also for a store that keeps none yet.
    func checkDigests() throws -> [StoreFinding]

    /// Makes the digests that the store keeps anew from its records, once it is known that these are right.
    func rebuildDigests() throws

    /// Takes the store through one stage of a migration, in one transaction: it is of the one version or of the other, whatever
    /// happens. It must be closed after it, and opened with the new version.
    ///
    /// - Parameters:
    ///   - timestamp: the time of what the stage's hooks change, in the history.
    ///   - progress: is told how many of the records that have to be written anew were; a throw undoes the stage.
    /// - Throws: what a hook throws; ``HabitStoreError/Code/schemaMismatch`` for what the declarations do not say how to do;
    ///   ``HabitStoreError/Code/invalidValue`` and ``HabitStoreError/Code/uniqueViolation`` for a record that does not fit into
    ///   the new version. The store is as it was then.
    @_spi(Engines) func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep
}

/// One moment of a store, for replication.
@_spi(Engines) public protocol ReplicaSnapshot: AnyObject {
    /// What the store knows about itself.
    func information() throws -> StoreInformation

    /// The part of it that changes: a smaller read than ``information()``, which is what it is made from unless a store has
    /// a faster way.
    func position() throws -> StorePosition

    /// The number of records of an entity.
    func count(entity: Int) throws -> Int

    /// Hands the encoded records of an entity to `body`, ascending by identifier, from behind `id` (nil: from the
    /// first), until it returns false.
    func enumerate(entity: Int, after id: UUID?, _ body: (UUID, EncodedRecord) throws -> Bool) throws

    /// An encoded record, or nil.
    func record(entity: Int, id: UUID) throws -> EncodedRecord?

    /// Hands the history transactions after a token to `body`, oldest first, until it returns false.
    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws

    /// The state of an unfinished copy into the store, as ``ReplicaTransaction/setBackfillState(_:)`` left it.
    func backfillState() throws -> String?

    /// What the rollout keeps in the store, as ``ReplicaTransaction/setRolloutState(_:)`` left it.
    func rolloutState() throws -> String?

    /// The lines of the rollout's evidence from a number on, ascending, `limit` at most; or the last one.
    ///
    /// - Parameter number: nil for the last one.
    /// - Throws: ``HabitStoreError/Code/unsupported`` for an engine whose stores are one machine's.
    func evidence(from number: Int64?, limit: Int) throws -> [EvidenceRow]
}

@_spi(Engines) extension ReplicaSnapshot {
    /// None is kept.
    public func evidence(from number: Int64?, limit: Int) throws -> [EvidenceRow] {
        throw HabitStoreError.keepsNoEvidence
    }

    /// The part of ``information()`` that changes.
    public func position() throws -> StorePosition {
        let information = try information()
        return StorePosition(
            role: information.role,
            epoch: information.epoch,
            token: information.token,
            historyFloor: information.historyFloor
        )
    }
}

/// The write transaction of a replication.
@_spi(Engines) public protocol ReplicaTransaction: ReplicaSnapshot {
    /// Stores and removes records, as ``put(entity:id:_:)`` and ``remove(entity:id:)`` do, one after the other. An engine that has to
    /// wait for each answer asks for all of them at once.
    func apply(_ changes: [ReplicaChange]) throws

    /// Stores a record as it is.
    func put(entity: Int, id: UUID, _ record: EncodedRecord) throws

    /// Removes a record, and nothing else.
    func remove(entity: Int, id: UUID) throws

    /// Appends a history transaction as it is; its token must be the next.
    func append(_ transaction: HistoryTransaction) throws

    /// Takes over another store's lineage, and a history that begins behind `floor`; appended transactions follow it.
    func adopt(lineage: UUID, floor: HistoryToken) throws

    /// Sets what the store may be used for.
    func setRole(_ role: StoreRole, epoch: Int) throws

    /// Keeps the state of an unfinished copy, or nil when it is finished.
    func setBackfillState(_ state: String?) throws

    /// Keeps what the rollout has to know of the store, beside the role.
    func setRolloutState(_ state: String?) throws

    /// Forgets the history up to and including a token.
    func pruneHistory(through token: HistoryToken) throws

    /// Adds lines of the rollout's evidence, under numbers that have none yet.
    ///
    /// - Parameter number: from which on lines are removed before; nil for none.
    /// - Throws: ``HabitStoreError/Code/unsupported`` for an engine whose stores are one machine's.
    func addEvidence(_ rows: [EvidenceRow], replacingFrom number: Int64?) throws
}

@_spi(Engines) extension ReplicaTransaction {
    /// None is kept.
    public func addEvidence(_ rows: [EvidenceRow], replacingFrom number: Int64?) throws {
        throw HabitStoreError.keepsNoEvidence
    }
}
