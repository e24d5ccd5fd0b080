import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// A store in the tables of a server that speaks PostgreSQL's protocol.
///
/// The tables are in the article *On-disk formats*; ``PostgresServer`` makes them. A server has one pool of connections in a
/// process, which its stores share: 8 at most, whatever their number.
///
/// Every transaction asks the server, and blocks its thread meanwhile: use the async forms where threads are few. A read is one round
/// trip for each question; a write is one to lock the user's row, one for each question, and one that carries all that is written
/// and the commit. Storing a record, or a batch of them, is one question, whatever is unique in them and whatever they refer to. What is acknowledged is as durable as the server's `synchronous_commit` makes it.
public final class PostgresHabitStore: MaintainableStore, ReplicableStore {
    /// How a store is opened.
    public struct Options: Sendable {
        /// Whether nothing is ever written. The store must be there.
        public var isReadOnly: Bool
        /// Whether a missing store is made; otherwise it is ``HabitStore/HabitStoreError/Code/notFound``.
        public var createsStore: Bool
        /// The identity of the store if it is new; nil for a random one.
        public var identity: UUID?
        /// The clock that stamps history transactions.
        public var now: @Sendable () -> Date
        /// How many connections to the server there are at most, with these options.
        public var mostConnections: Int
        /// How long another writer and a free connection are waited for, in seconds; an answer of the server, and the settling of an
        /// unknown outcome, twice as long.
        public var waitSeconds: Double
        #if PLANNER_MUTANTS
        /// A bug to be planted in the planner, by tests that must find it.
        package var mutant: KeyPlannerMutant?
        #endif

        /// Makes options.
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

    /// The engine with the semantics over it.
    @_spi(Engines) public let core: EngineStore<PostgresEngine>

    /// Opens a store, or makes it.
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

    /// What a store says of itself, whatever its schema.
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
    /// What of them the engine goes by.
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
