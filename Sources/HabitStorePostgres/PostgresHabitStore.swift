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

extension EngineName {
    /// A server that speaks PostgreSQL's protocol.
    public static let postgres: EngineName = "postgres"
}

/// Opens users' stores on a server that speaks PostgreSQL's protocol. Two servers need two providers with different names:
/// `postgres-eu`, `postgres-us`.
public struct PostgresProvider: EngineProvider {
    private let engineName: EngineName
    private let server: String

    /// Creates the provider for a server.
    ///
    /// - Parameters:
    ///   - name: the name in flag files and addresses.
    ///   - server: a libpq connection URI without a password; missing settings come from the environment. Users' stores are on this
    ///     server; an address may name another one.
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for a URI with a password.
    public init(name: EngineName = .postgres, server: String = "postgresql://") throws {
        engineName = name
        self.server = try PostgresPlace.server(server)
    }
}

@_spi(Engines) extension PostgresProvider {
    /// The server's name in flag files and addresses.
    public var name: EngineName { engineName }

    /// Zero: connections belong to the server, not to a store.
    public var cost: EngineCost { EngineCost(fileDescriptors: 0) }

    /// Always true: every machine that reaches the server reaches its stores.
    public var isShared: Bool { true }

    /// The user's id on this server, with the separator of copies doubled.
    public func place(ofUser user: String, inFolder folder: String) -> String {
        let name = user.replacing(PostgresPlace.separator, with: PostgresPlace.separator + PostgresPlace.separator)
        return PostgresPlace(server: server, name: name).description
    }

    /// The store's name followed by the copy's, on the store's server.
    public func place(ofCopy name: String, inFolder folder: String, beside place: String) -> String {
        (try? PostgresPlace(parsing: place).beside(name).description) ?? place + name
    }

    /// The identity that the store was given at its creation.
    public func identity(at place: String) throws -> StoreIdentity? {
        do {
            return withUnsafeBytes(of: try outline(at: place).information.storeID.uuid) {
                StoreIdentity($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }

    /// Always true: every transaction queries the server, which reports if a store is gone.
    public func holds(_ identity: StoreIdentity, at place: String) -> Bool { true }

    /// Always false: a store is not a file.
    public func recognizes(_ head: Data) -> Bool { false }

    /// Opens a store.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        try PostgresHabitStore(
            PostgresPlace(parsing: place),
            schema: schema,
            options: .init(isReadOnly: access == .readOnly, createsStore: access == .create)
        )
    }

    /// A store's outline.
    public func outline(at place: String) throws -> StoreOutline {
        try PostgresHabitStore.outline(of: PostgresPlace(parsing: place))
    }

    /// Whether the server accepts writes now: connecting looks for a host that does.
    public func mayWrite(_ place: String) -> Bool {
        (try? PostgresServer(PostgresPlace(parsing: place).server).check()) != nil
    }

    /// Renames a store on the same server.
    public func setAside(_ place: String, as suffix: String) throws -> String {
        let place = try PostgresPlace(parsing: place)
        let server = try PostgresServer(place.server)
        var aside = place.beside(suffix)
        while try identity(at: aside.description) != nil { aside = aside.beside(suffix) }
        try server.move(place, to: aside)
        return aside.description
    }

    /// Copies a store to another name on the same server.
    public func copy(_ place: String, to target: String) throws {
        let place = try PostgresPlace(parsing: place)
        try PostgresServer(place.server).copy(place, to: PostgresPlace(parsing: target))
    }

    /// Removes a store's rows.
    public func remove(_ place: String) throws {
        let place = try PostgresPlace(parsing: place)
        try PostgresServer(place.server).remove(place)
    }
}
