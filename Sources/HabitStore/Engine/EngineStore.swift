import Foundation
import Synchronization

/// What every store over an engine is made of: the semantics, written once.
@_spi(Engines) public final class EngineStore<Engine: StorageEngine>: Sendable {
    /// The engine.
    public let engine: Engine
    /// The entities.
    public let schema: Schema
    /// Where async forms run.
    public let dispatcher: StoreDispatcher
    /// The live queries.
    public let liveQueries = LiveQueries()
    let evaluatesPredicates: Bool
    /// How often the file had been migrated when it was opened.
    private let migrations: Int
    /// The moment at which the role was asked for last, and the role.
    private let knownRole = Atomic<UInt64>(.max)
    private let now: @Sendable () -> Date

    /// Puts the semantics over an opened engine: checks the schema and, in a new store, writes its bookkeeping.
    ///
    /// - Parameters:
    ///   - engine: the opened engine.
    ///   - schema: what the store must hold, or will.
    ///   - isReadOnly: nothing is written, not even in a new store.
    ///   - evaluatesPredicates: whether Foundation evaluates every predicate, instead of the lowered filter.
    ///   - identity: the store's identity if it is new; nil for a random one.
    ///   - now: the clock that stamps history transactions.
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` when the store holds another schema.
    public init(
        _ engine: Engine,
        schema: Schema,
        isReadOnly: Bool = false,
        evaluatesPredicates: Bool = false,
        identity: UUID? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
        try schema.validate()
        self.engine = engine
        self.schema = schema
        self.evaluatesPredicates = evaluatesPredicates
        self.now = now
        dispatcher = StoreDispatcher(label: engine.path ?? "memory")
        // One moment for all that is asked, which is what most openings cost.
        let found = try engine.readBookkeeping { snapshot in
            if try snapshot.metadata(MetadataKey.storeID) == nil, !isReadOnly { return Opening(isNew: true) }
            let isDescribed = try StoreBookkeeping.requireSchema(snapshot, schema, path: engine.path)
            var opening = Opening(migrations: try StoreBookkeeping.stamp(snapshot).migrations)
            opening.isBehind = try !isReadOnly && (!isDescribed || Self.lacksDigests(snapshot))
            return opening
        }
        migrations = found.migrations
        if found.isNew {
            try engine.write { writer in
                guard try writer.metadata(MetadataKey.storeID) == nil else { return }
                try StoreBookkeeping.initialize(writer, schema: schema, identity: identity ?? UUID())
                try DigestLedger(writer, schema).begin()
            }
            _ = try engine.readBookkeeping { try StoreBookkeeping.requireSchema($0, schema, path: engine.path) }
        }
        if found.isBehind { try bringUpToDate() }
    }

    /// The state that opening finds.
    private struct Opening {
        var isNew = false
        var migrations = 0
        /// Whether the store lacks what stores of this version have.
        var isBehind = false
    }

    private static func lacksDigests(_ snapshot: some EngineSnapshot) throws -> Bool {
        try snapshot.digestLeaf(entity: 0, covering: IdentifierRange.all.first) == nil
    }

    /// Writes down the schema, and begins to keep digests, in a store of a version that did not.
    private func bringUpToDate() throws {
        do {
            try engine.write { writer in
                // Another process may have done it meanwhile.
                if try !StoreBookkeeping.requireSchema(writer, schema, path: engine.path) {
                    try StoreBookkeeping.describe(writer, schema)
                }
                if try Self.lacksDigests(writer) { try DigestLedger(writer, schema).begin() }
            }
        } catch let error as HabitStoreError where error.code == .corrupt {
            // Without digests the store is as usable as before; its check names what cannot be read.
            return
        }
    }

    /// Refuses to read or write records of a store that was migrated since it was opened.
    func requireUnmigrated(_ snapshot: some EngineSnapshot) throws { _ = try role(snapshot) }

    private func role(_ snapshot: some EngineSnapshot) throws -> StoreRole {
        // A damaged file may say any number.
        guard let moment = snapshot.moment, moment < .max / StoreRole.count else {
            return try StoreBookkeeping.role(snapshot, migrations: migrations, path: engine.path)
        }
        let known = knownRole.load(ordering: .relaxed)
        if known / StoreRole.count == moment, let role = StoreRole(number: known % StoreRole.count) { return role }
        let role = try StoreBookkeeping.role(snapshot, migrations: migrations, path: engine.path)
        knownRole.store(moment * StoreRole.count + role.number, ordering: .relaxed)
        return role
    }

    /// Runs `body` over one moment of the store.
    public func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try locating {
            try engine.read { snapshot in
                // If the engine answers immediately, a closure would be most of the cost of a small read.
                if Engine.Snapshot.waitsForAnswers {
                    try snapshot.whenBegun { try self.requireFinished(snapshot) }
                } else {
                    try requireFinished(snapshot)
                }
                let transaction = EngineReadTransaction(snapshot, self)
                return try transaction.run { try body($0) }
            }
        }
    }

    /// Runs `body` on a snapshot for which a condition holds.
    ///
    /// - Throws: also ``ReadRefused``, before `body` sees anything of the store.
    public func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R {
        try locating {
            try engine.read { snapshot in
                if Engine.Snapshot.waitsForAnswers {
                    try snapshot.whenBegun { try self.require(condition, snapshot) }
                } else {
                    try require(condition, snapshot)
                }
                let transaction = EngineReadTransaction(snapshot, self)
                return try transaction.run { try body($0) }
            }
        }
    }

    private func requireFinished(_ snapshot: some EngineSnapshot) throws {
        guard try role(snapshot) != .backfilling else { throw unfinished() }
    }

    /// Reading the role fixes the snapshot: a later move no longer concerns the read.
    private func require(_ condition: ReadCondition, _ snapshot: some EngineSnapshot) throws {
        let role = try role(snapshot)
        guard role != .backfilling, condition.holds else { throw ReadRefused() }
        guard let epoch = condition.epoch else { return }
        guard role == .authoritative, try StoreBookkeeping.epoch(snapshot) == epoch else { throw ReadRefused() }
    }

    /// Runs `body` in a write transaction; see the protocol's `write(author:_:)`.
    public func write<R>(
        author: String?,
        under terms: WriteTerms = WriteTerms(),
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R {
        func work(_ writer: Engine.Writer) throws -> R {
            try requireAuthority(writer, epoch: terms.epoch)
            let replica = EngineReplicaSnapshot(writer, schema)
            defer { replica.end() }
            try terms.willBegin?(replica)
            let transaction = EngineWriteTransaction(writer, self)
            transaction.pruneLimit = terms.pruneLimit
            let result = try transaction.run { _ in try body(transaction) }
            let appended = try transaction.finish(author: author, timestamp: now())
            try terms.willCommit?(replica, appended)
            return result
        }
        return try liveQueries.follow {
            try locating { try terms.mayShareCommit ? engine.writeTogether(work) : engine.write(work) }
        }
    }

    /// Damage that is seen in here says in which file, by the name that the store was opened under.
    @inline(__always)
    func locating<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as HabitStoreError where error.isDamage {
            throw error.located(inStore: engine.path)
        }
    }

    private func unfinished() -> HabitStoreError {
        HabitStoreError(
            .notAuthoritative,
            "a copy or an import into this store is not finished, so it serves no user; run it again to finish it",
            at: .init(path: engine.path)
        )
    }

    /// The role is checked inside the engine's own write transaction, so that a switch by another process is seen.
    private func requireAuthority(_ writer: Engine.Writer, epoch expected: Int?) throws {
        let role = try role(writer)
        guard role != .backfilling else { throw unfinished() }
        guard role == .authoritative else {
            throw HabitStoreError(
                .notAuthoritative,
                "this store is \(role.rawValue) and takes no writes; open the user's store again to reach the one that does",
                at: .init(path: engine.path)
            )
        }
        if let expected {
            let epoch = try StoreBookkeeping.epoch(writer)
            guard epoch == expected else {
                throw HabitStoreError(
                    .notAuthoritative,
                    "the user's store was switched meanwhile (epoch \(epoch), expected \(expected)); open it again",
                    at: .init(path: engine.path)
                )
            }
        }
    }
}

@_spi(Engines) extension EngineSnapshot {
    /// Whether there is a store: one that is being made has no identity yet.
    public var isInitialized: Bool { get throws { try metadata(MetadataKey.storeID) != nil } }

    /// Refuses another schema than the store was written with; a store that is still empty fits every schema.
    ///
    /// For engines, before they make or build anything in a file on a schema's behalf.
    public func requireSchema(_ schema: Schema, path: String?) throws {
        guard try metadata(MetadataKey.storeID) != nil else { return }
        try StoreBookkeeping.requireSchema(self, schema, path: path)
    }
}

extension StoreRole {
    /// How many there are.
    fileprivate static let count: UInt64 = 4

    fileprivate var number: UInt64 {
        switch self {
        case .authoritative: 0
        case .standby: 1
        case .sealed: 2
        case .backfilling: 3
        }
    }

    fileprivate init?(number: UInt64) {
        switch number {
        case 0: self = .authoritative
        case 1: self = .standby
        case 2: self = .sealed
        case 3: self = .backfilling
        default: return nil
        }
    }
}

/// A store that is an ``EngineStore`` under its own name: all it adds is how its engine is opened.
@_spi(Engines) public protocol EngineBackedStore: HabitStore, ReplicableStore, MaintainableStore {
    /// The engine below.
    associatedtype Engine: StorageEngine

    /// The engine with the semantics over it.
    var core: EngineStore<Engine> { get }
}

@_spi(Engines) extension EngineBackedStore {
    /// The entities.
    public var schema: Schema { core.schema }

    /// Where the async forms run.
    public var dispatcher: StoreDispatcher { core.dispatcher }

    /// The live queries of the store.
    public var liveQueries: LiveQueries { core.liveQueries }

    /// The file, or nil for a store without one.
    public var path: String? { core.engine.path }

    /// - Throws: ``HabitStoreError/Code/fileMoved`` where the path leads to another file than the open one, or to none.
    func requireInPlace() throws { try core.engine.requireInPlace() }

    /// Runs `body` over one moment of the store.
    public func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R { try core.read(body) }

    /// Runs `body` in a write transaction.
    @discardableResult
    public func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try core.write(author: author, body)
    }

    /// The async form, which runs on one of the store's own threads.
    ///
    /// It is declared along with the other form, and not just for all stores: between two forms, Swift prefers the one of the more
    /// specific type before it considers `await`, and would block a thread of the cooperative pool.
    public func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.core.read(body) }
    }

    /// The async form, which runs on a thread of the store's own.
    @discardableResult
    public func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.core.write(author: author, attempt.guarding(body)) }
    }

    /// Writes a consistent copy to a path at which there is nothing yet.
    public func backup(to path: String) throws { try core.engine.backup(to: path) }

    /// Closes the store; later operations throw ``HabitStoreError/Code/closed``.
    public func close() { core.engine.close() }
}

/// A store in a file, of an engine that can open it.
@_spi(Engines) public protocol FileBackedStore: EngineBackedStore {
    /// Opens a store.
    ///
    /// - Throws: a typed error for everything that can be wrong with the file, which is untouched then.
    init(path: String, schema: Schema, access: StoreAccess) throws

    /// The outline of the store in a file, whatever its schema. Nothing is written.
    ///
    /// - Throws: the errors of opening, except those about the schema.
    static func outline(ofStoreAt path: String) throws -> StoreOutline
}
