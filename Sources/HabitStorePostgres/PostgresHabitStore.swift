import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// A store in the tables of a server that speaks PostgreSQL's protocol.
///
/// The article *On-disk formats* describes the tables; ``PostgresServer`` creates them. In a process, all stores of a server share
/// one pool of connections, at most 8 by default.
///
/// Every transaction queries the server and blocks its thread meanwhile: use the async methods if threads are few. A read takes one
/// round trip for each query. A write takes one to lock the user's row, one for each query, and one for all changes and the commit.
/// Storing a record or a batch of records is one query, whatever unique constraints and references they have. An acknowledged write
/// is as durable as the server's `synchronous_commit` makes it.
public final class PostgresHabitStore: MaintainableStore, ReplicableStore {
    /// How to open a store.
    public struct Options: Sendable {
        /// Whether to open it read-only. The store must exist.
        public var isReadOnly: Bool
        /// Whether to create a missing store; otherwise opening throws ``HabitStore/HabitStoreError/Code/notFound``.
        public var createsStore: Bool
        /// The identity of a new store; nil for a random one.
        public var identity: UUID?
        /// The clock that stamps history transactions.
        public var now: @Sendable () -> Date
        /// The maximum number of connections to the server with these options.
        public var mostConnections: Int
        /// How long to wait for another writer and for a free connection, in seconds. The wait for an answer of the server, or for
        /// resolving an unknown outcome, is twice as long.
        public var waitSeconds: Double
        #if PLANNER_MUTANTS
        /// A planner bug, planted by tests of the checks that must find it.
        package var mutant: KeyPlannerMutant?
        #endif

        /// Creates options, by default those for reading and writing.
        public init(
            isReadOnly: Bool = false,
            createsStore: Bool = true,
            identity: UUID? = nil,
            now: @escaping @Sendable () -> Date = { Date() },
            mostConnections: Int = 8,
            waitSeconds: Double = 5
        ) {
            self.isReadOnly = isReadOnly
            self.createsStore = createsStore
            self.identity = identity
            self.now = now
            self.mostConnections = mostConnections
            self.waitSeconds = waitSeconds
        }
    }

    /// The store's semantics on top of the engine.
    @_spi(Engines) public let core: EngineStore<PostgresEngine>

    /// Opens or creates a store.
    ///
    /// - Throws: `inputOutput` where the server cannot be reached; `permissionDenied` where it lets nobody in; `notFound`
    ///   without tables or store; `newerVersion`; `corrupt`; `schemaMismatch` when the store holds another schema or the schema
    ///   contradicts itself; `unsupported` when it has an index that cannot be kept; `busy`.
    public init(_ place: PostgresPlace, schema: Schema, options: Options = Options()) throws {
        try schema.validate()
        let engine = try PostgresEngine(place, schema: schema, options: options.engine)
        core = try EngineStore(
            engine,
            schema: schema,
            isReadOnly: options.isReadOnly,
            identity: options.identity,
            now: options.now
        )
        try engine.finishOpening()
    }

    /// A store's outline, whatever its schema.
    public static func outline(of place: PostgresPlace) throws -> StoreOutline {
        var options = PostgresEngine.Options()
        (options.isReadOnly, options.createsStore) = (true, false)
        let engine = try PostgresEngine(place, schema: Schema([]), options: options)
        defer { engine.close() }
        return try engine.read { try StoreOutline($0, path: place.description) }
    }
}

@_spi(Engines) extension PostgresHabitStore: EngineBackedStore {}

extension PostgresHabitStore.Options {
    /// The options for the engine.
    fileprivate var engine: PostgresEngine.Options {
        var options = PostgresEngine.Options()
        options.isReadOnly = isReadOnly
        options.createsStore = createsStore && !isReadOnly
        options.limits.mostConnections = max(1, mostConnections)
        options.limits.waitSeconds = waitSeconds
        #if PLANNER_MUTANTS
        options.mutant = mutant
        #endif
        return options
    }
}
