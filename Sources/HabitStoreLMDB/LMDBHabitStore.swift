import Foundation
import HabitStore

/// A store in one LMDB file.
///
/// The file's format is in the article *On-disk formats*. Beside the file lies its lock file (`-lock`), which may be
/// deleted when no process has the store open, and the mark (`-sound`) of a file whose structure was found sound.
///
/// The first opening after the system has started, and behind any change by something else, reads the whole file, to be sure
/// of its structure before LMDB uses it; that takes time in proportion to the file's size. Others believe the mark: the
/// article *Guarantees* has the rules. Several stores on one file, in one process or in several, share what they see.
public final class LMDBHabitStore: EngineBackedStore {
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
        package var mutant: LMDBPlannerMutant?
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
    public let core: EngineStore<LMDBEngine>

    /// Opens a store, or makes it.
    ///
    /// - Throws: `notFound`; `notAStore` for a file of another kind, which is left as it is; `newerVersion`; `corrupt`;
    ///   `schemaMismatch` when the store holds another schema or the schema contradicts itself; `unsupported` when it
    ///   has an index that cannot be kept; `permissionDenied`, `full`, `busy`.
    public init(path: String, schema: Schema = HabitSchema.current, options: Options = Options()) throws {
        try schema.validate()
        let engine = try LMDBEngine(path: path, schema: schema, options: options)
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
}
