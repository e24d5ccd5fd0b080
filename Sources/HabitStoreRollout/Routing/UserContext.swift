import FeatureFlags
@_spi(Engines) import HabitStore
import ShadowVerifier
import Synchronization

/// Everything about a user that outlives the open files: the folder, the options and flags, and the evidence.
final class UserContext: Sendable {
    let directory: UserDirectory
    let schema: Schema
    /// How to open stores of other versions.
    let versions: StorePair.Versions
    let engines: Engines
    let options: RolloutOptions
    /// The plan that migrates a store that does not serve to the serving store's version, even if opening migrates no user.
    let followerPlan: (any SchemaMigrationPlan.Type)?
    let flags: FlagWatch
    let subject: FlagSubject
    /// The queries that a verification runs in addition to comparing counts, relationships and contents.
    let queries: [QueryFile.Query]
    let metrics: RolloutMetrics
    let writeTimes: WriteTimes
    let evidence: EvidenceRecorder
    let shadowTotals = ShadowTotals()
    /// Whether to create a store if the user has none.
    let mayBegin = Atomic<Bool>(false)

    init(
        directory: UserDirectory,
        schema: Schema,
        engines: Engines,
        options: RolloutOptions,
        followerPlan: (any SchemaMigrationPlan.Type)?,
        versions: StorePair.Versions,
        flags: FlagWatch,
        attributes: [String: FlagValue],
        queries: [QueryFile.Query],
        metrics: RolloutMetrics,
        writeTimes: WriteTimes
    ) {
        self.directory = directory
        self.schema = schema
        self.engines = engines
        self.options = options
        self.followerPlan = followerPlan
        self.versions = versions
        self.flags = flags
        self.queries = queries
        self.metrics = metrics
        self.writeTimes = writeTimes
        subject = FlagSubject(directory.user, attributes: attributes)
        evidence = EvidenceRecorder(directory, options, metrics)
    }

    /// The kill switch that is pulled for the user, as far as this process knows.
    var pulledKill: KillSwitch.Pull? { flags.pulledKill(for: subject) }

    /// The kill switch that is pulled for the user now, after checking the files again.
    func refreshKill() -> KillSwitch.Pull? {
        flags.refresh(for: subject)
        return pulledKill
    }

    /// The stage that the flags want for the user, from one consistent state of the flags. Calls exposure hooks.
    var wanted: WantedStage { flags.wanted(for: subject, engines, isExposure: true) }

    /// The same, without calling exposure hooks again.
    var stillWanted: WantedStage { flags.wanted(for: subject, engines) }

    /// - Parameter names: the stores' names in the report.
    func verification(
        _ a: any UserStoreBackend,
        _ b: any UserStoreBackend,
        named names: (String, String),
        ignoring rules: IgnoreRules = .none
    ) -> ShadowVerifier {
        var options = VerificationOptions()
        options.queries = queries
        options.ignoreRules = rules
        return ShadowVerifier(.init(name: names.0, store: a), .init(name: names.1, store: b), options: options)
    }

    func differs(_ report: VerificationReport) -> HabitStoreError {
        let first = report.reason ?? report.differences.first?.message ?? ""
        return HabitStoreError(
            .unsupported,
            report.differenceCount == 0
                ? "the verification ended with \(report.verdict.rawValue): \(first)"
                : "the verification found \(report.differenceCount.counted("difference")), first: \(first)",
            at: .init(path: directory.path)
        )
    }
}

/// The lock of a user's switches, held to find out where the user is, and to move the user.
///
/// A kill passes by a holder that does not release it, and by a lock file that cannot be opened. This is safe, since epochs keep moves apart, see
/// ``StageSwitch``.
final class SwitchLock: Sendable {
    /// nil if the lock was passed by.
    private let lock: FileLock?
    /// The kill for which the lock was passed by.
    let passedFor: KillSwitch.Pull?

    static let fileName = "switch.lock"

    /// Waits for the lock.
    ///
    /// - Parameter refreshKill: checks for a pulled kill switch; called only if the lock is held, and again before the holder is passed by, in case
    ///   of a re-arm meanwhile.
    /// - Throws: ``HabitStoreError/Code/busy`` if it is held for longer than ``RolloutOptions/lockWaitSeconds``; ``HabitStoreError/Code/notFound`` if
    ///   the user's folder is gone.
    init(_ directory: UserDirectory, _ options: RolloutOptions, refreshKill: () -> KillSwitch.Pull? = { nil }) throws {
        let path = directory.path + "/" + Self.fileName
        if let free = try? FileLock(path: path, timeoutSeconds: 0) {
            lock = consume free
            passedFor = nil
            return
        }
        let wait =
            refreshKill() == nil ? options.lockWaitSeconds : min(options.lockWaitSeconds, options.stepLimitSeconds)
        do {
            lock = try FileLock(path: path, timeoutSeconds: wait)
            passedFor = nil
        } catch let error as HabitStoreError where error.code != .notFound {
            guard let pulled = refreshKill() else { throw error }
            options.logger.warning("a kill does without the lock of a user's switches: \(error)")
            lock = nil
            passedFor = pulled
        }
    }
}
