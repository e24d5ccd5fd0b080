import Foundation
import Synchronization

/// A store that can be kept equal to another one: records and history arrive unchanged, bypassing uniqueness, delete rules and references, since a
/// copy must not alter them.
public protocol ReplicableStore: HabitStore {
    /// Runs `body` over one moment, also while a copy into the store is not finished.
    @_spi(Engines) func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R

    /// Runs `body` like `replicaRead`, for code that needs the bookkeeping only. A file that other programs have written to is not changed: it may
    /// be an older copy, which must be noticed first.
    @_spi(Engines) func replicaBookkeeping<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R

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

@_spi(Engines) extension ReplicableStore {
    /// Runs `body` like `replicaRead`.
    public func replicaBookkeeping<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R { try replicaRead(body) }
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

/// What becomes of a record in a store that follows another one.
@_spi(Engines) public struct ReplicaChange: Sendable {
    /// The position of the record's entity in the schema.
    public let entity: Int
    /// The record's identifier.
    public let id: UUID
    /// The record after the change; nil if it was deleted.
    public let record: EncodedRecord?

    /// A stored record, or a deletion.
    public init(entity: Int, id: UUID, _ record: EncodedRecord?) {
        (self.entity, self.id, self.record) = (entity, id, record)
    }
}

/// The conditions of a write transaction in a store that is kept equal to another one.
@_spi(Engines) public struct WriteTerms {
    /// The epoch that the store must have, so that a process that slept through a switch cannot write to a store that came
    /// back; nil for any.
    public var epoch: Int?
    /// The last token whose history may be forgotten, since the other store lacks the transactions after it; nil for all.
    public var pruneLimit: HistoryToken?
    /// Runs inside of the transaction, before its body. A throw refuses the write before anything of it has happened.
    public var willBegin: ((any ReplicaSnapshot) throws -> Void)?
    /// Runs inside the transaction, after its body and right before the commit, with the body's history transaction; nil if the body changes nothing. An
    /// error undoes the write.
    public var willCommit: ((any ReplicaSnapshot, HistoryTransaction?) throws -> Void)?

    /// Whether other writes may share the write's commit. ``willCommit`` then runs at the end of this write's part of the
    /// transaction, before the parts of others.
    public var mayShareCommit: Bool

    /// Terms that ask for nothing, unless said otherwise. A write on whose way something is to happen shares no commit,
    /// unless it is said that it may.
    public init(
        epoch: Int? = nil,
        pruneLimit: HistoryToken? = nil,
        willBegin: ((any ReplicaSnapshot) throws -> Void)? = nil,
        willCommit: ((any ReplicaSnapshot, HistoryTransaction?) throws -> Void)? = nil,
        mayShareCommit: Bool? = nil
    ) {
        self.mayShareCommit = mayShareCommit ?? (willBegin == nil && willCommit == nil)
        self.epoch = epoch
        self.pruneLimit = pruneLimit
        self.willBegin = willBegin
        self.willCommit = willCommit
    }
}

/// A number that all who use a store on this machine can see, and the value that it has for as long as the store is the one to
/// be read; for a store that other machines reach, the epoch in which it serves as well.
@_spi(Engines) public struct ReadCondition: @unchecked Sendable {
    // `@unchecked`: the number is atomic, and its owner keeps the memory alive.
    private let number: UnsafeMutablePointer<Atomic<UInt64>>
    private let value: UInt64
    /// The epoch in which the store has to be authoritative, by its own word; nil where the number says enough.
    public let epoch: Int?

    /// - Parameters:
    ///   - number: stays where it is for as long as this is used.
    ///   - value: what it is for as long as the condition holds.
    ///   - epoch: the epoch in which the store has to be authoritative, by its own word.
    public init(_ number: UnsafeMutablePointer<Atomic<UInt64>>, is value: UInt64, epoch: Int? = nil) {
        self.number = number
        self.value = value
        self.epoch = epoch
    }

    /// Whether the condition holds. Costs one atomic load.
    public var holds: Bool { number.pointee.load(ordering: .acquiring) == value }
}

/// A read was refused before its closure saw anything of the store: its condition no longer holds, or the store may not be read.
@_spi(Engines) public struct ReadRefused: Error, Sendable {
    /// Makes the refusal.
    public init() {}
}

/// The state of a store that an import fills in batches, until the last of them.
///
/// It replaces the state of a copy, with the role ``StoreRole/backfilling``: the store serves no one. It is also the fence: each transaction of the
/// import checks that this state is its own.
@_spi(Engines) public struct UnfinishedImport: Codable, Equatable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case run = "import"
        case kind
    }

    /// The run of the import.
    private let run: UUID
    /// The kind of import whose next run may keep the stored records; nil if the next run starts from scratch.
    public let kind: String?

    /// Of a new run.
    public init(kind: String? = nil) { (run, self.kind) = (UUID(), kind) }

    /// - Returns: nil for what is not an import's: the state of a copy.
    public init?(state: String?) {
        guard let state, let decoded = try? JSONDecoder().decode(Self.self, from: Data(state.utf8)) else { return nil }
        self = decoded
    }

    /// The text in the store.
    public var state: String {
        let kind = kind.map { ",\"\(CodingKeys.kind.stringValue)\":\"\($0)\"" } ?? ""
        return "{\"\(CodingKeys.run.stringValue)\":\"\(run.uuidString)\"\(kind)}"
    }
}

/// A line of a rollout's evidence, as a store keeps it that several machines reach.
@_spi(Engines) public struct EvidenceRow: Sendable, Hashable {
    /// The line's number; each is there once.
    public let number: Int64
    /// The line, newline included.
    public let line: [UInt8]

    /// Names a line.
    public init(number: Int64, line: [UInt8]) { (self.number, self.line) = (number, line) }
}

extension HabitStoreError {
    /// The error of engines that keep no evidence; then one machine has it, in a file.
    static var keepsNoEvidence: HabitStoreError {
        HabitStoreError(.unsupported, "the engine's stores are one machine's, and keep no evidence of a rollout")
    }
}
