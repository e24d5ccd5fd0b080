import FeatureFlags
import Foundation
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

extension RolloutOptions {
    /// The longest time that an option accepts: about thirty years, enough for anyone who means "forever".
    private static let mostSeconds = 1e9

    /// Refuses invalid times, before anything waits that long.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` with the option's name.
    func validate() throws {
        let times = [
            ("lockWaitSeconds", lockWaitSeconds), ("stepLimitSeconds", stepLimitSeconds),
            ("placeWaitSeconds", placeWaitSeconds), ("recheckSeconds", recheckSeconds),
            ("flagWaitSeconds", flagWaitSeconds), ("advanceSeconds", advanceSeconds),
            ("mirror.waitSeconds", mirror.waitSeconds), ("mirror.preparedWaitSeconds", mirror.preparedWaitSeconds),
            ("mirror.copyPauseSeconds", mirror.copyPauseSeconds), ("mirror.retrySeconds", mirror.retrySeconds),
            ("mirror.longestRetrySeconds", mirror.longestRetrySeconds),
            ("mirror.closingWaitSeconds", mirror.closingWaitSeconds),
            ("shadowReads.tokenWaitSeconds", shadowReads.tokenWaitSeconds),
            ("shadowReads.comparisonSeconds", shadowReads.comparisonSeconds),
        ]
        for (name, seconds) in times where !(0...Self.mostSeconds).contains(seconds) {
            throw HabitStoreError(
                .invalidValue,
                "the rollout's option \(name) is \(seconds); it can be 0 to \(Int(Self.mostSeconds)) seconds"
            )
        }
    }
}

/// How a mirror follows the authoritative store, at the stages where that is the old one.
public struct MirrorOptions: Sendable {
    /// How long a write waits for the mirror, in seconds. After that the user counts as lagging, and the write returns.
    public var waitSeconds = 0.25
    /// How long the mirror keeps a write open that the authoritative store is committing, in seconds. After that the history carries it over.
    public var preparedWaitSeconds = 1.0
    /// How many records a copy writes in one transaction.
    public var copyChunk = 2_000
    /// How long a copy pauses after each chunk, in seconds.
    public var copyPauseSeconds = 0.005
    /// How long the mirror pauses after its first failure, in seconds; each further failure doubles it.
    public var retrySeconds = 0.1
    /// The longest pause between retries, in seconds.
    public var longestRetrySeconds = 30.0
    /// How long closing a user's store waits for the mirror to catch up, in seconds.
    public var closingWaitSeconds = 1.0

    /// Options with the defaults.
    public init() {}
}

/// How reads are sampled and compared.
///
/// The sample consists of questions: a fetch, a count, or the record of an identifier. Questions that differ only in their literals have one *shape*,
/// and of every `oneIn` consecutive questions of a shape exactly one is compared. Which one follows from ``seed``, the user's id, the shape, and the
/// question's number within its shape: the same reads give the same sample, and a rare question gets its share next to a frequent one.
public struct ShadowReadOptions: Sendable {
    /// One of this many questions of a shape is compared; 0 compares none.
    public var oneIn = 1
    /// The seed of the sample. Each process draws its own unless it is set: with a common one, short-lived processes would compare the same few
    /// questions over and over.
    public var seed = UInt64.random(in: .min ... .max)
    /// The most questions that wait to be compared; more are shed.
    public var queueLimit = 1_024
    /// How long to wait for the other store to reach the read's token, in seconds.
    public var tokenWaitSeconds = 0.05
    /// How long one comparison may take, in seconds.
    public var comparisonSeconds = 5.0
    /// How many comparisons to sum up in one record of the evidence.
    public var recordEvery = 100

    /// Options with the defaults.
    public init() {}
}

/// Keys outside the users' folders that seal lines of evidence (HMAC-SHA-256), see ``RolloutOptions/evidenceKeys``.
///
/// The first one seals, all of them are accepted. To replace a key, add the new one before it, and remove it when no line counts any more that it
/// sealed. Descriptions never show keys.
public struct EvidenceKeys: Sendable, Hashable {
    /// The minimum length of a key in bytes.
    public static let minimumBytes = 32
    /// The most keys that are accepted.
    public static let maximumKeys = 16
    private static let maximumFileBytes = 65_536

    let keys: [Data]

    /// Takes keys of at least ``minimumBytes``; the first one seals.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for no keys, too many, or one that is too short.
    public init(_ keys: [Data]) throws {
        guard !keys.isEmpty, keys.count <= Self.maximumKeys else {
            throw HabitStoreError(.invalidValue, "there are \(keys.count) evidence keys; give 1 to \(Self.maximumKeys)")
        }
        if let place = keys.firstIndex(where: { $0.count < Self.minimumBytes }) {
            throw HabitStoreError(
                .invalidValue,
                "evidence key \(place + 1) has \(keys[place].count) bytes; it needs at least \(Self.minimumBytes)"
            )
        }
        self.keys = keys
    }

    /// Reads a file of keys, one per line, whose bytes are the key unchanged: `openssl rand -hex 32` makes one.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied`` for a file that others may read or write, or that another user owns;
    ///   ``HabitStoreError/Code/invalidValue`` for lines that are not keys; system errors.
    public init(path: String) throws {
        let bytes = try SecretFile.bytes(path, "the file of evidence keys", limit: Self.maximumFileBytes)
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { Data($0) }
        guard bytes.count <= Self.maximumFileBytes, lines.allSatisfy({ $0.allSatisfy { $0 > 0x20 && $0 < 0x7F } })
        else {
            throw HabitStoreError(
                .invalidValue,
                "the file of evidence keys must have one key per line: `openssl rand -hex 32` makes a key",
                at: .init(path: path)
            )
        }
        do {
            try self.init(lines)
        } catch let error as HabitStoreError {
            throw HabitStoreError(error.code, error.message, at: .init(path: path))
        }
    }
}

extension EvidenceKeys: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of keys.
    public var description: String { "\(keys.count) evidence keys" }
    /// The number of keys.
    public var debugDescription: String { description }
    /// Shows no keys.
    public var customMirror: Swift.Mirror { Swift.Mirror(self, children: []) }
}
