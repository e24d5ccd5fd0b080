import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// A store in one LMDB file.
///
/// The file's format is in the article *On-disk formats*. Beside the file lies its lock file (`-lock`), which may be
/// deleted when no process has the store open, and the mark (`-sound`) of a file whose structure was found sound.
///
/// The first opening after the system has started, and behind any change by something else, reads the whole file, to be sure
/// of its structure before LMDB uses it; that takes time in proportion to the file's size. Others believe the mark, and check
/// each page when they read it: the article *Guarantees* has the rules. Several stores on one file, in one process or in several, share what they see.
public final class LMDBHabitStore: MaintainableStore, ReplicableStore {
    /// How a store is opened.
    public struct Options: Sendable {
        /// Whether nothing is ever written. The file must be there.
        public var isReadOnly: Bool
        /// Whether a missing file is made; otherwise it is ``HabitStore/HabitStoreError/Code/notFound``.
        public var createsFile: Bool
        /// The identity of the store if it is new; nil for a random one.
        public var identity: UUID?
        /// The clock that stamps history transactions.
        public var now: @Sendable () -> Date
        /// How far the file may grow before it is mapped anew, in bytes. It takes address space only, and grows by
        /// itself. The first opening of a file in a process decides.
        public var mapSizeBytes: Int
        #if PLANNER_MUTANTS
        /// A bug to be planted in the planner, by tests that must find it.
        package var mutant: KeyPlannerMutant?
        #endif

        /// 4 GiB where addresses have 64 bits.
        public static let defaultMapSizeBytes = LMDBOptions.defaultMapSizeBytes

        /// Makes options.
        public init(
            isReadOnly: Bool = false,
            createsFile: Bool = true,
            identity: UUID? = nil,
            now: @escaping @Sendable () -> Date = { Date() },
            mapSizeBytes: Int = Self.defaultMapSizeBytes
        ) {
            self.isReadOnly = isReadOnly
            self.createsFile = createsFile
            self.identity = identity
            self.now = now
            self.mapSizeBytes = mapSizeBytes
        }
    }

    /// The engine with the semantics over it.
    @_spi(Engines) public let core: EngineStore<LMDBEngine>

    /// Opens a store, or makes it.
    ///
    /// - Throws: `notFound`; `notAStore` for a file of another kind, which is left as it is; `newerVersion`; `corrupt`;
    ///   `schemaMismatch` when the store holds another schema or the schema contradicts itself; `unsupported` when it
    ///   has an index that cannot be kept; `permissionDenied`, `full`, `busy`; `engineUnavailable` when liblmdb refuses a file
    ///   that is sound, or is of a version that would make files of another format: see ``RescuedLMDBStore``.
    public init(path: String, schema: Schema, options: Options = Options()) throws {
        try schema.validate()
        let engine = try LMDBEngine(path: path, schema: schema, options: options.engine)
        do {
            core = try EngineStore(
                engine,
                schema: schema,
                isReadOnly: options.isReadOnly,
                identity: options.identity,
                now: options.now
            )
        } catch {
            engine.close()
            throw error
        }
    }

    /// Opens a store.
    public convenience init(path: String, schema: Schema, access: StoreAccess) throws {
        var options = Options()
        options.isReadOnly = access == .readOnly
        options.createsFile = access == .create
        try self.init(path: path, schema: schema, options: options)
    }

    /// Opens a store with the last version of a plan's schemas, and brings one of an older version there before; see
    /// ``HabitStore/StoreMigrator``.
    ///
    /// - Throws: also what the plan's stages throw, and ``HabitStore/HabitStoreError/Code/migrationRequired`` for an older store
    ///   that is opened read-only.
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

    /// What the store in a file says of itself, whatever its schema.
    public static func outline(ofStoreAt path: String) throws -> StoreOutline {
        let engine = try LMDBEngine(path: path, schema: Schema([]), options: LMDBEngine.Options())
        defer { engine.close() }
        return try engine.read { try StoreOutline($0, path: path) }
    }
}

@_spi(Engines) extension LMDBHabitStore: FileBackedStore {}

extension LMDBHabitStore.Options {
    /// What of them the engine goes by.
    fileprivate var engine: LMDBEngine.Options {
        var options = LMDBEngine.Options()
        options.environment.isReadOnly = isReadOnly
        options.environment.createsIfMissing = createsFile
        options.environment.mapSizeBytes = mapSizeBytes
        #if PLANNER_MUTANTS
        options.mutant = mutant
        #endif
        return options
    }
}
