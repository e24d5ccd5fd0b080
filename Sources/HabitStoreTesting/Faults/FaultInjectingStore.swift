import Foundation
@_spi(Engines) import HabitStore

/// A store whose operations fail or hang as a ``FaultPlan`` says, to test code that uses stores.
///
/// ```swift
/// let plan = FaultPlan()
/// let store = try FaultInjectingStore(plan) { try LMDBHabitStore(path: path, schema: HabitSchema.current) }
/// plan.inject(Fault(.fail(.full), on: .writes, at: .beforeCommit))
/// ```
///
/// Without a fault it gives the guarantees of the base store. The error ``HabitStoreError/Code/outcomeUnknown`` before the commit is a failed commit
/// that
/// did not happen; after the commit, one that did.
public final class FaultInjectingStore: MaintainableStore, ReplicableStore {
    private let base: any UserStoreBackend
    private let plan: FaultPlan

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - plan: the faults, also of opening.
    ///   - open: opens the base store.
    /// - Throws: the errors of `open` and of the plan.
    public init(_ plan: FaultPlan, path: String? = nil, _ open: () throws -> any UserStoreBackend)
        throws
    {
        try plan.reach(.open, .beginning, path: path)
        base = try open()
        self.plan = plan
    }

    /// The base store's schema.
    public var schema: Schema { base.schema }

    /// The base store's dispatcher, which runs the async forms.
    public var dispatcher: StoreDispatcher { base.dispatcher }

    /// The base store's file.
    public var path: String? { base.path }

    /// Runs `body` in a read transaction of the base store.
    public func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try plan.reach(.read, .beginning, path: path)
        return try base.read(body)
    }

    /// Runs `body` in a read transaction of the base store while a condition holds.
    @_spi(Engines) public func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws
        -> R
    {
        try plan.reach(.read, .beginning, path: path)
        return try base.read(while: condition, body)
    }

    /// Runs `body` in a write transaction of the base store.
    @discardableResult
    public func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try write(author: author, under: WriteTerms(), body)
    }

    /// The async form, on the store's own thread.
    public func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    /// The async form, on the store's own thread.
    @discardableResult
    public func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    /// Runs `body` in a read transaction of the base store, for replication.
    @_spi(Engines) public func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R {
        try plan.reach(.replicaRead, .beginning, path: path)
        return try base.replicaRead(body)
    }

    /// Runs `body` in a write transaction of the base store, for replication.
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

    /// Runs `body` in a write transaction of the base store, under terms.
    @discardableResult
    @_spi(Engines) public func write<R>(
        author: String?,
        under terms: WriteTerms,
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R {
        try plan.reach(.write, .beginning, path: path)
        var faulty = terms
        // A fault at the commit concerns this write alone.
        faulty.mayShareCommit = false
        faulty.willCommit = { [plan, path] replica, transaction in
            try terms.willCommit?(replica, transaction)
            try plan.reach(.write, .beforeCommit, path: path)
        }
        let result = try base.write(author: author, under: faulty, body)
        try plan.reach(.write, .afterCommit, path: path)
        return result
    }

    /// Checks the base store.
    public func check(progress: (Int) throws -> Void) throws -> [StoreFinding] { try base.check(progress: progress) }

    /// Compares the base store's digests with its records.
    public func checkDigests() throws -> [StoreFinding] { try base.checkDigests() }

    /// Rebuilds the base store's digests.
    public func rebuildDigests() throws { try base.rebuildDigests() }

    /// Runs a migration stage on the base store.
    public func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep {
        try base.migrate(stage, timestamp: timestamp, progress: progress)
    }

    /// Backs up the base store.
    public func backup(to path: String) throws { try base.backup(to: path) }

    /// Closes the base store.
    public func close() { base.close() }
}
