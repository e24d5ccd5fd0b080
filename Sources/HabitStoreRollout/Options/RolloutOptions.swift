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
    /// Gathers what is asked of the users' stores; nil where nobody wants to know. It costs each question a look at what
    /// was asked before.
    public var queryRecorder: QueryRecorder?
    /// What the gate asks for.
    public var gate = GatePolicy()
    /// Keys outside of the users' folders, with which lines of evidence are sealed: lines without a seal of one of them do not
    /// count for a user. Of a user who has evidence already, what was written before counts no more, and is proven anew. Nil for
    /// none: seals are not looked at then.
    public var evidenceKeys: EvidenceKeys?
    /// Told of each evaluation of the rollout's flags that finds out what they want for a user: which flag, which variant and
    /// why, and for whom, by a keyed hash. The kill switch's triggers tell them nothing.
    public var exposureHooks: [FlagExposureHook] = []
    /// How long an operation waits for another process that is opening or moving the user, in seconds.
    public var lockWaitSeconds = 30.0
    /// How long a store may take for one step of a move, in seconds. The kill switch goes on without the new store then.
    public var stepLimitSeconds = 5.0
    /// How many users' files may be open at once; those of users who were not at work for the longest time are closed for
    /// others. Nil for ``defaultMaximumOpenUsers(_:)``. On SQLite and LMDB each takes up to 16 open files when it is at rest, two more for each read beside four others of that user while it
    /// runs, and on LMDB 4 GiB of address space, which is neither memory nor disk.
    public var maximumOpenUsers: Int?
    /// How long an operation waits for a place where that many users are at work, in seconds.
    public var placeWaitSeconds = 30.0
    /// How much memory SQLite may take for all connections of the process before they give up old pages for new ones, in
    /// bytes. It is set for the whole process; a lower limit that the app has set stays.
    public var cacheBudgetBytes = 256 << 20
    /// Whether flag files and the sentinel file are watched, and users who are open are taken back as soon as those say so. Else they
    /// are looked at when a user is opened, moved, or found moved by another process.
    public var followsFlags = true
    /// How often rules are evaluated anew although no file has changed, for those that ask for the time, in seconds.
    public var recheckSeconds = 30.0
    /// How long a flag provider of the app's own may take for what it says about a user, in seconds. One that takes longer moves nobody.
    public var flagWaitSeconds = 1.0
    /// Whether a user is moved towards the stage that the flags want, as far as the gate lets, in the background.
    public var advancesByItself = true
    /// How often that is tried, in seconds. With ``followsFlags``, also how often the flags are asked for a user who is open and not
    /// in use, who may have to be taken back.
    public var advanceSeconds = 5.0
    /// Told about stages, kills and failures.
    public var logger = Logger(label: "habit-store")
    /// What brings users' stores of older schema versions to the current one, when they are opened; without one they are
    /// refused with ``HabitStore/HabitStoreError/Code/migrationRequired``.
    public var migrationPlan: (any SchemaMigrationPlan.Type)?
    /// What is done with stores of other versions of the schema than the current one.
    public var otherVersions = OtherVersions.migrated
    /// Opens a user's stores in the place of their engines, of whatever version of their schema: also where they are migrated.
    @_spi(Engines) public var opener: StoreOpener?

    /// What can be done with stores of other versions of the schema.
    public enum OtherVersions: Sendable {
        /// They are migrated by ``RolloutOptions/migrationPlan``; without one they are refused.
        case migrated
        /// Those of the plan's versions are opened as they were written, and not migrated: for whoever verifies or moves users whose app
        /// migrates them. Only a migration that the app has begun, and that has ended between a user's two stores, is brought to its end
        /// where that user is opened.
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
