import Foundation
@_spi(Engines) import HabitStore

/// A store in one SQLite file, with its log (`-wal`) and its lock (`-lock`) next to it.
///
/// The file is a plain relational database, which the stock `sqlite3` shell can open, query and check. A write is on the disk when
/// it returns. Threads and processes may share a file; one of them writes at a time.
public final class SQLiteHabitStore: MaintainableStore, ReplicableStore {
    /// How to open a store.
    public struct Options: Sendable {
        /// Whether to open it read-only; the file must exist.
        public var isReadOnly = false
        /// Whether to create a store if there is no file.
        public var createsFile = true
        /// The identity of a new store; nil for a random one.
        public var identity: UUID?
        /// The clock that stamps history transactions.
        public var now: @Sendable () -> Date
        /// How long a transaction waits for another thread or process before it throws ``HabitStoreError/Code/busy``, in seconds.
        public var busyLimitSeconds: Double
        #if PLANNER_MUTANTS
        /// A planner bug, planted by tests of the checks that must find it.
        package var mutant: SQLitePlannerMutant?
        /// A semi-join is chosen if it leads to less than one in this many records; 0 for every possible one.
        package var joinShare: Int?
        #endif

        /// Creates options, by default those for reading and writing.
        public init(
            isReadOnly: Bool = false,
            createsFile: Bool = true,
            identity: UUID? = nil,
            busyLimitSeconds: Double = 5,
            now: @escaping @Sendable () -> Date = { Date() }
        ) {
            self.isReadOnly = isReadOnly
            self.createsFile = createsFile
            self.identity = identity
            self.busyLimitSeconds = busyLimitSeconds
            self.now = now
        }
    }

    /// The store's semantics on top of the engine.
    @_spi(Engines) public let core: EngineStore<SQLiteEngine>

    /// Opens the store at a path.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound``, ``HabitStoreError/Code/notAStore`` for a file of another kind,
    ///   ``HabitStoreError/Code/newerVersion``, ``HabitStoreError/Code/schemaMismatch``,
    ///   ``HabitStoreError/Code/corrupt``; the file is untouched then.
    public init(path: String, schema: Schema, options: Options = Options()) throws {
        core = try EngineStore(
            SQLiteEngine(path: path, schema: schema, options: options.engine),
            schema: schema,
            isReadOnly: options.isReadOnly,
            identity: options.identity,
            now: options.now
        )
    }

    /// Opens a store with an access mode.
    public convenience init(path: String, schema: Schema, access: StoreAccess) throws {
        var options = Options()
        options.isReadOnly = access == .readOnly
        options.createsFile = access == .create
        try self.init(path: path, schema: schema, options: options)
    }

    /// Opens a store with the last version of a plan's schemas. Migrates an older store first; see ``HabitStore/StoreMigrator``.
    ///
    /// - Throws: the errors of the plan's stages, and ``HabitStore/HabitStoreError/Code/migrationRequired`` for an older store that
    ///   is opened read-only.
    public convenience init(
        path: String,
        migrationPlan: any SchemaMigrationPlan.Type,
        options: Options = Options()
    ) throws {
        let schema = try migrationPlan.current()
        do {
            try self.init(path: path, schema: schema, options: options)
        } catch let error as HabitStoreError where error.code == .migrationRequired && !options.isReadOnly {
            _ = try StoreMigrator(Self.self, path: path, plan: migrationPlan, now: options.now).run()
            try self.init(path: path, schema: schema, options: options)
        }
    }

    /// The outline of the store in a file, whatever its schema.
    public static func outline(ofStoreAt path: String) throws -> StoreOutline {
        let engine = try SQLiteEngine(path: path, schema: Schema([]), options: SQLiteEngine.Options())
        defer { engine.close() }
        return try engine.read { try StoreOutline($0, path: path) }
    }
}

@_spi(Engines) extension SQLiteHabitStore: FileBackedStore {}

extension SQLiteHabitStore.Options {
    /// The options for the engine.
    fileprivate var engine: SQLiteEngine.Options {
        var options = SQLiteEngine.Options()
        options.mode = isReadOnly ? .readOnly : (createsFile ? .create : .readWrite)
        options.file.busyLimitSeconds = busyLimitSeconds
        #if PLANNER_MUTANTS
        (options.mutant, options.joinShare) = (mutant, joinShare)
        #endif
        return options
    }
}

extension SQLiteHabitStore {
    /// Bounds the memory that SQLite uses for all connections of this process. At the limit, each connection reuses cache pages
    /// that it does not currently need instead of allocating more. Nothing fails because of the limit: a statement gets the memory
    /// that it must have.
    ///
    /// This is SQLite's soft heap limit (https://www.sqlite.org/c3ref/hard_heap_limit64.html). It also applies to the process's
    /// other uses of SQLite; a lower limit set by the app remains in effect.
    public static func limitCaches(toBytes bytes: Int) { SQLiteMemory.limit(toBytes: bytes) }

    /// The memory that SQLite uses for all connections of this process, in bytes.
    public static var memoryBytes: Int { SQLiteMemory.bytes }
}

extension EngineName {
    /// SQLite.
    public static let sqlite: EngineName = "sqlite"
}

/// Opens users' stores in SQLite files.
public struct SQLiteProvider: EngineProvider {
    /// Creates the provider.
    public init() {}
}

@_spi(Engines) extension SQLiteProvider: FileEngineProvider {
    /// `sqlite`.
    public var name: EngineName { .sqlite }

    /// A writer's and four readers' connections, each with the file and its log, and the lock of writers.
    public var cost: EngineCost { EngineCost(fileDescriptors: 10) }

    /// The log, its index, and the writers' lock.
    public var sidecars: [String] { ["-wal", "-shm", "-lock"] }

    /// The log.
    public var copiedSidecars: [String] { ["-wal"] }

    /// Whether a file starts like an SQLite database.
    public func recognizes(_ head: Data) -> Bool { head.starts(with: Data("SQLite format 3\0".utf8)) }

    /// Opens a store.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        try SQLiteHabitStore(path: place, schema: schema, access: access)
    }

    /// A store's outline.
    public func outline(at place: String) throws -> StoreOutline { try SQLiteHabitStore.outline(ofStoreAt: place) }

    /// Sets SQLite's soft heap limit; see ``SQLiteHabitStore/limitCaches(toBytes:)``.
    public func limitCaches(toBytes bytes: Int) { SQLiteHabitStore.limitCaches(toBytes: bytes) }
}
