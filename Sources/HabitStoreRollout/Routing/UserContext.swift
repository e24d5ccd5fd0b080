import FeatureFlags
@_spi(Engines) import HabitStore
import ShadowVerifier
import Synchronization

/// What outlives a user's open files: whose they are, by what they are opened and moved, and what is known of them.
final class UserContext: Sendable {
    let directory: UserDirectory
    let schema: Schema
    /// How to open stores of other versions.
    let versions: StorePair.Versions
    /// The engines that there are.
    let engines: Engines
    let options: RolloutOptions
    /// The plan that migrates a store that does not serve to the serving store's version, even if opening migrates no user.
    let followerPlan: (any SchemaMigrationPlan.Type)?
    let flags: FlagWatch
    /// For whom the flags are evaluated.
    let subject: FlagSubject
    /// What a verification compares besides counts, relationships and contents.
    let queries: [QueryFile.Query]
    let metrics: RolloutMetrics
    let writeTimes: WriteTimes
    let evidence: EvidenceRecorder
    let shadowTotals = ShadowTotals()
    /// Whether a store may be made for the user where there is none.
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

    /// What pulls the kill switch for the user, as far as this process knows.
    var pulledKill: PulledKill? { flags.pulledKill(for: subject) }

    /// What pulls the kill switch for the user now: its files are looked at.
    func lookForKill() -> PulledKill? {
        flags.refresh(for: subject)
        return pulledKill
    }

    /// What the flags want for the user, in one state of them. Exposure hooks are told of it.
    var wanted: WantedStage { flags.wanted(for: subject, engines, isExposure: true) }

    /// The same for whoever does not act on it for the first time.
    var stillWanted: WantedStage { flags.wanted(for: subject, engines) }

    /// - Parameter names: what the stores are called in the report.
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
