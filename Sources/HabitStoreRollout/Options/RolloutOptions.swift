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

/// How the stores of all users under a root are kept.
public struct RolloutOptions: Sendable {
    /// How mirrors follow.
    public var mirror = MirrorOptions()
    /// How reads are compared.
    public var shadowReads = ShadowReadOptions()
    /// Records the queries of users' stores; nil to record none. Each query then costs a lookup among the earlier ones.
    public var queryRecorder: QueryRecorder?
    /// The gate's policy.
    public var gate = GatePolicy()
    /// Keys outside the users' folders that seal lines of evidence: lines without a valid seal do not count for a user. Evidence written before a key was
    /// set no longer counts, and has to be proven again. Nil for none: seals are then ignored.
    public var evidenceKeys: EvidenceKeys?
    /// Told of each evaluation of the rollout's flags that finds out what they want for a user: which flag, which variant and
    /// why, and for whom, by a keyed hash. The kill switch's triggers tell them nothing.
    public var exposureHooks: [FlagExposureHook] = []
    /// How long an operation waits for another process that is opening or moving the user, in seconds.
    public var lockWaitSeconds = 30.0
    /// How long a store may take for one step of a move, in seconds. After that the kill switch continues without the new store.
    public var stepLimitSeconds = 5.0
    /// How many users' files may be open; the least recently used ones are closed for others. Nil for ``defaultMaximumOpenUsers(_:)``. On SQLite and
    /// LMDB each user takes up to 16 open files when idle, and two more for each running read beyond four; on LMDB also 4 GiB of address space, which
    /// is neither memory nor disk.
    public var maximumOpenUsers: Int?
    /// How long an operation waits for a place where that many users are at work, in seconds.
    public var placeWaitSeconds = 30.0
    /// How much memory SQLite may take for all connections of the process before they give up old pages for new ones, in
    /// bytes. It is set for the whole process; a lower limit that the app has set stays.
    public var cacheBudgetBytes = 256 << 20
    /// Whether flag files and the sentinel file are watched, and users who are open are taken back as soon as those say so. Else they
    /// are looked at when a user is opened, moved, or found moved by another process.
    public var followsFlags = true
    /// How often rules that depend on the time are evaluated again although no file has changed, in seconds.
    public var recheckSeconds = 30.0
    /// How long an app's flag provider may take to answer for a user, in seconds. A slower one moves no user.
    public var flagWaitSeconds = 1.0
    /// Whether a user is moved towards the stage that the flags want, as far as the gate lets, in the background.
    public var advancesByItself = true
    /// How often the process tries to advance users, in seconds. With ``followsFlags``, also how often flags are checked for a user who is open but idle,
    /// and may have to be taken back.
    public var advanceSeconds = 5.0
    /// Told about stages, kills and failures.
    public var logger = Logger(label: "habit-store")
    /// What brings users' stores of older schema versions to the current one, when they are opened; without one they are
    /// refused with ``HabitStore/HabitStoreError/Code/migrationRequired``.
    public var migrationPlan: (any SchemaMigrationPlan.Type)?
    /// How to treat stores of other schema versions.
    public var otherVersions = OtherVersions.migrated
    /// Opens a user's stores instead of their engines, of any version of their schema, also during migrations.
    @_spi(Engines) public var opener: StoreOpener?

    /// What can be done with stores of other versions of the schema.
    public enum OtherVersions: Sendable {
        /// They are migrated by ``RolloutOptions/migrationPlan``; without one they are refused.
        case migrated
        /// Stores of the plan's versions are opened as written and not migrated, for programs that verify or move users whose app migrates them. Only a
        /// migration that the app began, and that ended between a user's two stores, is finished when the user is opened.
        case asWritten
        /// The same with stores of any schema: a kill, a status and a re-arm need no other.
        case asWrittenByAnyApp
    }

    /// Options with the defaults.
    public init() {}

    /// As many as fit into the files that this process may open (`ulimit -n`), less 128 for the app's own, by what two stores
    /// of the costliest engines have open and two files more; from 1 to 256.
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
