import FeatureFlags
@_spi(Engines) import HabitStore
import Logging

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Options for the stores of all users under a root.
public struct RolloutOptions: Sendable {
    /// How mirrors follow the authoritative store.
    public var mirror = MirrorOptions()
    /// How reads are compared.
    public var shadowReads = ShadowReadOptions()
    /// Records the queries of users' stores; nil to record none. Each query then costs a lookup among the earlier ones.
    public var queryRecorder: QueryRecorder?
    /// The gate's policy.
    public var gate = GatePolicy()
    /// Keys outside the users' folders that seal lines of evidence: lines without a valid seal do not count for a user. Evidence written before a key
    /// was set no longer counts, and has to be proven again. Nil for none: seals are then ignored.
    public var evidenceKeys: EvidenceKeys?
    /// Called for each evaluation of the rollout's flags that determines what they want for a user: with the flag, the variant, the reason, and a
    /// keyed hash of the user. Not called for the kill switch's triggers.
    public var exposureHooks: [FlagExposureHook] = []
    /// How long an operation waits for another process that is opening or moving the user, in seconds.
    public var lockWaitSeconds = 30.0
    /// How long a store may take for one step of a move, in seconds. After that the kill switch continues without the new store.
    public var stepLimitSeconds = 5.0
    /// How many users' files may be open; the least recently used ones are closed for others. Nil for ``defaultMaximumOpenUsers(_:)``. On SQLite and
    /// LMDB each user takes up to 16 open files when idle, and two more for each running read beyond four; on LMDB also 4 GiB of address space, which
    /// is neither memory nor disk.
    public var maximumOpenUsers: Int?
    /// How long an operation waits for a place if that many users are in use, in seconds.
    public var placeWaitSeconds = 30.0
    /// How much memory SQLite may use for all connections of the process before they evict old pages for new ones, in bytes. Applies to the whole
    /// process; a lower limit set by the app stays.
    public var cacheBudgetBytes = 256 << 20
    /// Whether to watch flag files and the sentinel file, and take open users back as soon as those say so. Otherwise they are checked when a user is
    /// opened, moved, or found moved by another process.
    public var followsFlags = true
    /// How often to evaluate time-dependent rules again although no file has changed, in seconds.
    public var recheckSeconds = 30.0
    /// How long an app's flag provider may take to answer for a user, in seconds. A slower one moves no user.
    public var flagWaitSeconds = 1.0
    /// Whether to move users towards the stage that the flags want in the background, as far as the gate allows.
    public var advancesByItself = true
    /// How often the process tries to advance users, in seconds. With ``followsFlags``, also how often flags are checked for an open but idle user,
    /// who may have to be taken back.
    public var advanceSeconds = 5.0
    /// Logs stages, kills and failures.
    public var logger = Logger(label: "habit-store")
    /// Migrates users' stores of older schema versions when they are opened; nil to refuse them with
    /// ``HabitStore/HabitStoreError/Code/migrationRequired``.
    public var migrationPlan: (any SchemaMigrationPlan.Type)?
    /// How to treat stores of other schema versions.
    public var otherVersions = OtherVersions.migrated
    /// Opens a user's stores instead of their engines, of any version of their schema, also during migrations.
    @_spi(Engines) public var opener: StoreOpener?

    /// How to treat stores of other schema versions.
    public enum OtherVersions: Sendable {
        /// They are migrated by ``RolloutOptions/migrationPlan``; without one they are refused.
        case migrated
        /// Stores of the plan's versions are opened as written and not migrated, for programs that verify or move users whose app migrates them. Only
        /// a migration that the app began, and that stopped between a user's two stores, is finished when the user is opened.
        case asWritten
        /// The same for stores of any schema: enough for a kill, a status or a re-arm.
        case asWrittenByAnyApp
    }

    /// Options with the defaults.
    public init() {}

    /// The number of users whose files fit into the limit of open files of this process (`ulimit -n`), less 128 for the app; each user needs the
    /// files of the two most expensive engines and two more. From 1 to 256.
    public static func defaultMaximumOpenUsers(_ engines: Engines) -> Int {
        let filesEach = engines.providers.map(\.cost.fileDescriptors).sorted().suffix(2).reduce(2, +)
        var limit = rlimit()
        #if canImport(Glibc)
        let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        #else
        let isKnown = getrlimit(RLIMIT_NOFILE, &limit) == 0
        #endif
        guard isKnown else { return 1 }
        let files = Int(clamping: limit.rlim_cur)
        return max(1, min(256, (files - 128) / filesEach))
    }
}
