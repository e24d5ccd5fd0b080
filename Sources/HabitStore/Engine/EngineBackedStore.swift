import Foundation

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
