import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// A store in one LMDB file.
///
/// The article *On-disk formats* describes the file. Next to it are its lock file (`-lock`), which may be deleted when no process
/// has the store open, and the mark (`-sound`) of a file whose structure was found intact.
///
/// The first opening after a system start, or after anything else changed the file, reads the whole file to verify its structure
/// before LMDB uses it, which takes time in proportion to the file's size. Later openings trust the mark and check each page when
/// they read it: the article *Guarantees* has the rules. Several stores on one file, in one process or in several, see each other's
/// changes.
public final class LMDBHabitStore: MaintainableStore, ReplicableStore {
    /// How to open a store.
    public struct Options: Sendable {
        /// Whether to open it read-only. The file must exist.
        public var isReadOnly: Bool
        /// Whether to create a missing file; otherwise opening throws ``HabitStore/HabitStoreError/Code/notFound``.
        public var createsFile: Bool
        /// The identity of a new store; nil for a random one.
        public var identity: UUID?
        /// The clock that stamps history transactions.
        public var now: @Sendable () -> Date
        /// How far the file may grow before it is mapped again, in bytes. It takes only address space, and grows automatically. The
        /// first opening of a file in a process decides.
        public var mapSizeBytes: Int
        #if PLANNER_MUTANTS
        /// A planner bug, planted by tests of the checks that must find it.
        package var mutant: KeyPlannerMutant?
        #endif

        /// 4 GiB on 64-bit systems.
        public static let defaultMapSizeBytes = LMDBOptions.defaultMapSizeBytes

        /// Creates options, by default those for reading and writing.
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

    /// The store's semantics on top of the engine.
    @_spi(Engines) public let core: EngineStore<LMDBEngine>

    /// Opens or creates a store.
    ///
    /// - Throws: `notFound`; `notAStore` for a file of another kind, which is not changed; `newerVersion`; `corrupt`;
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
        let engine = try LMDBEngine(path: path, schema: Schema([]), options: LMDBEngine.Options())
        defer { engine.close() }
        return try engine.read { try StoreOutline($0, path: path) }
    }
}

@_spi(Engines) extension LMDBHabitStore: FileBackedStore {}

extension LMDBHabitStore.Options {
    /// The options for the engine.
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

extension EngineName {
    /// LMDB.
    public static let lmdb: EngineName = "lmdb"
}

/// Opens users' stores in LMDB files.
public struct LMDBProvider: EngineProvider {
    /// Creates the provider.
    public init() {}
}

@_spi(Engines) extension LMDBProvider: FileEngineProvider {
    /// `lmdb`.
    public var name: EngineName { .lmdb }

    /// The file, its lock and its mark, and a map of 4 GiB.
    public var cost: EngineCost { EngineCost(fileDescriptors: 4, addressSpaceBytes: 4 << 30) }

    /// The lock, and the mark of an intact structure.
    public var sidecars: [String] { ["-lock", "-sound"] }

    /// None: a copy makes its own.
    public var copiedSidecars: [String] { [] }

    /// The offsets of LMDB's magic number: after the header of the first page, which is longer in LMDB 1.0.
    private static let magicOffsets = [16, 24]

    /// Whether a file has LMDB's magic number (`MDB_MAGIC`) after the header of the first page, in the byte order of the machine.
    public func recognizes(_ head: Data) -> Bool {
        Self.magicOffsets.contains { offset in
            let magic = head.dropFirst(offset).prefix(4)
            return magic.count == 4 && magic.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) } == 0xBEEF_C0DE
        }
    }

    /// Opens a store. If the system's library rejects an intact file, read-only access works without the library: see
    /// ``RescuedLMDBStore``.
    public func open(_ place: String, schema: Schema, access: StoreAccess) throws -> any UserStoreBackend {
        do {
            return try LMDBHabitStore(path: place, schema: schema, access: access)
        } catch let error as HabitStoreError where error.code == .engineUnavailable && access == .readOnly {
            return try RescuedLMDBStore(rescuing: place, schema: schema)
        }
    }

    /// A store's outline.
    public func outline(at place: String) throws -> StoreOutline {
        do {
            return try LMDBHabitStore.outline(ofStoreAt: place)
        } catch let error as HabitStoreError where error.code == .engineUnavailable {
            return try RescuedLMDBStore.outline(rescuing: place)
        }
    }
}
