import Foundation

/// A store that can be kept equal to another one: records and history arrive unchanged, bypassing uniqueness, delete rules and references, since a
/// copy must not alter them.
public protocol ReplicableStore: HabitStore {
    /// Runs `body` over one moment, also while a copy into the store is not finished.
    @_spi(Engines) func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R

    /// Runs `body` in a write transaction of the replication.
    @_spi(Engines) func replicate<R>(_ body: (any ReplicaTransaction) throws -> R) throws -> R

    /// Runs `body` over one moment at which a condition holds, like `read(_:)`.
    ///
    /// - Throws: also ``ReadRefused``, before `body` sees anything, if the condition does not hold once the moment is chosen, or the store is the
    ///   unfinished target of a copy.
    @_spi(Engines) func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R

    /// Runs `body` in a write transaction, like `write(author:_:)`, under the terms of the code that keeps the store equal to another one.
    ///
    /// - Throws: also the errors of the terms; and ``HabitStoreError/Code/notAuthoritative``, before `body` runs, if the store has another epoch.
    @discardableResult
    @_spi(Engines) func write<R>(
        author: String?,
        under terms: WriteTerms,
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R

    /// Holds the digests that the store keeps against its records, as they are in the file. An empty result is a clean
    /// bill; also for a store that keeps none yet.
    func checkDigests() throws -> [StoreFinding]

    /// Recomputes the store's digests from its records, which must be known to be right.
    func rebuildDigests() throws

    /// Takes the store through one stage of a migration, in one transaction, so that it always has either the old version or the new one. Close the
    /// store afterwards, and open it with the new version.
    ///
    /// - Parameters:
    ///   - timestamp: the time of the hooks' changes in the history.
    ///   - progress: gets how many of the records to rewrite are done; an error that it throws undoes the stage.
    /// - Throws: the errors of the hooks; ``HabitStoreError/Code/schemaMismatch`` if the declarations do not say how to migrate;
    ///   ``HabitStoreError/Code/invalidValue`` and ``HabitStoreError/Code/uniqueViolation`` for a record that does not fit the new version. The
    ///   store is then unchanged.
    @_spi(Engines) func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep
}

/// One moment of a store, for replication.
@_spi(Engines) public protocol ReplicaSnapshot: AnyObject {
    /// The store's information about itself.
    func information() throws -> StoreInformation

    /// The part of it that changes: a smaller read than ``information()``, which is what it is made from unless a store has
    /// a faster way.
    func position() throws -> StorePosition

    /// The number of records of an entity.
    func count(entity: Int) throws -> Int

    /// Passes the encoded records of an entity to `body`, ascending by identifier, starting after `id` (nil: from the first), until it returns
    /// false.
    func enumerate(entity: Int, after id: UUID?, _ body: (UUID, EncodedRecord) throws -> Bool) throws

    /// An encoded record, or nil.
    func record(entity: Int, id: UUID) throws -> EncodedRecord?

    /// Hands the history transactions after a token to `body`, oldest first, until it returns false.
    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws

    /// The state of an unfinished copy into the store, as ``ReplicaTransaction/setBackfillState(_:)`` left it.
    func backfillState() throws -> String?

    /// The rollout's state in the store, as set by ``ReplicaTransaction/setRolloutState(_:)``.
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
    /// Stores and removes records in order, like ``put(entity:id:_:)`` and ``remove(entity:id:)``. An engine that waits for answers sends them
    /// together.
    func apply(_ changes: [ReplicaChange]) throws

    /// Stores a record unchanged.
    func put(entity: Int, id: UUID, _ record: EncodedRecord) throws

    /// Removes a record, and nothing else.
    func remove(entity: Int, id: UUID) throws

    /// Appends a history transaction unchanged; its token must be the next.
    func append(_ transaction: HistoryTransaction) throws

    /// Adopts another store's lineage, and a history that begins after `floor`; appended transactions follow it.
    func adopt(lineage: UUID, floor: HistoryToken) throws

    /// Sets what the store may be used for.
    func setRole(_ role: StoreRole, epoch: Int) throws

    /// Keeps the state of an unfinished copy, or nil when it is finished.
    func setBackfillState(_ state: String?) throws

    /// Stores the rollout's state, next to the role.
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
