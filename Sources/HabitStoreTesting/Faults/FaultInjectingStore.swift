import Foundation
@_spi(Engines) import HabitStore

/// A store whose operations fail or hang when a ``FaultPlan`` says so, for tests of what stands on stores.
///
/// ```swift
/// let plan = FaultPlan()
/// let store = try FaultInjectingStore(plan) { try LMDBHabitStore(path: path) }
/// plan.inject(Fault(.fail(.full), on: .writes, at: .beforeCommit))
/// ```
///
/// Between faults it is the store below, with that store's guarantees. An error ``HabitStoreError/Code/outcomeUnknown``
/// before the commit is a commit that failed and has not happened, behind the commit one that failed and has.
public final class FaultInjectingStore: MaintainableStore, ReplicableStore {
    private let base: any UserStoreBackend
    private let plan: FaultPlan

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - plan: what goes wrong, opening included.
    ///   - open: opens the store below.
    /// - Throws: what `open` throws, and what the plan says.
    public init(_ plan: FaultPlan, path: String? = nil, _ open: () throws -> any UserStoreBackend)
        throws
    {
        try plan.reach(.open, .beginning, path: path)
        base = try open()
        self.plan = plan
    }

    /// The entities of the store below.
    public var schema: Schema { base.schema }

    /// Where the async forms run.
    public var dispatcher: StoreDispatcher { base.dispatcher }

    /// The file of the store below.
    public var path: String? { base.path }

    /// Runs `body` over one moment of the store below.
    public func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try plan.reach(.read, .beginning, path: path)
        return try base.read(body)
    }

    /// Runs `body` over one moment of the store below at which a condition holds.
    @_spi(Engines) public func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws
        -> R
    {
        try plan.reach(.read, .beginning, path: path)
        return try base.read(while: condition, body)
    }

    /// Runs `body` in a write transaction of the store below.
    @discardableResult
    public func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try write(author: author, under: WriteTerms(), body)
    }

    /// The async form, on a thread of the store's own.
    public func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    /// The async form, on a thread of the store's own.
    @discardableResult
    public func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    /// Runs `body` over one moment of the store below, for the replication.
    @_spi(Engines) public func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R {
        try plan.reach(.replicaRead, .beginning, path: path)
        return try base.replicaRead(body)
    }

    /// Runs `body` in a write transaction of the replication.
    @_spi(Engines) public func replicate<R>(_ body: (any ReplicaTransaction) throws -> R) throws -> R {
        try plan.reach(.replicate, .beginning, path: path)
        let result = try base.replicate { transaction in
            let result = try body(transaction)
            try plan.reach(.replicate, .beforeCommit, path: path)
            return result
        }
        try plan.reach(.replicate, .afterCommit, path: path)
        return result
    }

    /// Runs `body` in a write transaction of the store below, under terms.
    @discardableResult
    @_spi(Engines) public func write<R>(
        author: String?,
        under terms: WriteTerms,
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R {
        try plan.reach(.write, .beginning, path: path)
        var faulty = terms
        // What is planned at a commit concerns this write alone.
        faulty.mayShareCommit = false
        faulty.willCommit = { [plan, path] replica, transaction in
            try terms.willCommit?(replica, transaction)
            try plan.reach(.write, .beforeCommit, path: path)
        }
        let result = try base.write(author: author, under: faulty, body)
        try plan.reach(.write, .afterCommit, path: path)
        return result
    }

    /// Checks the store below.
    public func check(progress: (Int) throws -> Void) throws -> [StoreFinding] { try base.check(progress: progress) }

    /// Holds the digests of the store below against its records.
    public func checkDigests() throws -> [StoreFinding] { try base.checkDigests() }

    /// Makes the digests of the store below anew.
    public func rebuildDigests() throws { try base.rebuildDigests() }

    /// Takes the store below through a stage of a migration.
    public func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep {
        try base.migrate(stage, timestamp: timestamp, progress: progress)
    }

    /// Writes a copy of the store below.
    public func backup(to path: String) throws { try base.backup(to: path) }

    /// Closes the store below.
    public func close() { base.close() }
}
