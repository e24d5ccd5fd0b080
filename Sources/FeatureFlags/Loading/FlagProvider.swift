import Foundation
import Hashing
import Logging
import Metrics
import Synchronization

/// Flags that follow their files.
///
/// Several files are layered in order: a later file's flag replaces an earlier one's. A file that cannot be read leaves its last good flags in
/// force; ``state``, the log, the metrics and `onEvent` report it.
///
/// | metric | kind | meaning |
/// |---|---|---|
/// | `habitstore_flag_reloads_total` | counter, by `result` | how often a file was read: `changed`, `unchanged`, `failed` |
/// | `habitstore_flag_reload_duration_seconds` | timer | how long each of these took |
/// | `habitstore_flags_quarantined` | gauge | how many flags of the files in force cannot be understood |
/// | `habitstore_flag_sources_stale` | gauge | how many files are not in force in their current form |
/// | `habitstore_kill_sentinel_present` | gauge | whether the sentinel file exists: 1 or 0 |
///
/// An evaluation makes no system call and takes no lock: it reads the snapshot in force, and evaluates it. Hooks get each evaluation; without hooks
/// this costs nothing. ``snapshot`` and ``killSignal(context:)`` bypass them.
public final class FlagProvider: FlagEvaluator {
    /// The sentinel file of the kill switch; nil where none was named.
    public let sentinel: SentinelFile?

    private let sources: [FlagSource]
    private let killFlag: String?
    private let configuration: FlagConfiguration
    private let logger: Logger
    private let hooks: [FlagExposureHook]
    private let onEvent: @Sendable (FlagProviderEvent) -> Void
    private let metrics: FlagMetrics
    private let reference: SnapshotReference
    private let loaders: Mutex<[FlagSourceLoader]>
    private let watcher = Mutex<FlagFileWatcher?>(nil)

    /// Reads the files and looks for the sentinel file, once; ``startWatching(_:)`` makes it follow them.
    ///
    /// - Parameters:
    ///   - sources: The files; what is wrong with one is in ``state``, and not an error here.
    ///   - killSwitch: The triggers of a kill switch, see ``killSignal(context:)``. Its flag becomes one of
    ///     ``FlagConfiguration/killFlags``.
    ///   - configuration: How the flags are evaluated.
    ///   - logger: Told about files and flags that are wrong, and about changes; never about an evaluation.
    ///   - metrics: Makes what is counted and measured.
    ///   - hooks: Told of each evaluation: which flag, which variant and why, and for whom, by a keyed hash.
    ///   - onEvent: Told about the same, on the thread that noticed it; it must not wait for that thread.
    /// - Throws: A ``FlagError`` for a sentinel path that no file can have.
    public init(
        sources: [FlagSource],
        killSwitch: KillSwitchTriggers = KillSwitchTriggers(),
        configuration: FlagConfiguration = FlagConfiguration(),
        logger: Logger = Logger(label: "feature-flags"),
        metrics: any MetricsFactory = MetricsSystem.factory,
        hooks: [FlagExposureHook] = [],
        onEvent: @escaping @Sendable (FlagProviderEvent) -> Void = { _ in }
    ) throws(FlagError) {
        var configuration = configuration
        if let key = killSwitch.flagKey { configuration.killFlags.insert(key) }
        if let path = killSwitch.sentinelPath { sentinel = try SentinelFile(path: path) } else { sentinel = nil }
        self.sources = sources
        self.configuration = configuration
        self.logger = logger
        self.hooks = hooks
        self.onEvent = onEvent
        killFlag = killSwitch.flagKey
        loaders = Mutex(sources.map { FlagSourceLoader($0, configuration) })
        self.metrics = FlagMetrics(factory: metrics)
        let nothing = FlagLayers.merged([], sources: sources.map(\.path), configuration: configuration)
        reference = SnapshotReference(nothing)
        if let sentinel { self.metrics.recordSentinel(isPresent: sentinel.isPresent) }
        if let sentinel, sentinel.isPresent { logSentinel(sentinel) }
        reload()
    }

    deinit { stopWatching() }

    /// The flags in force. Hold it to evaluate several flags in the same state of the files.
    public var snapshot: FlagSnapshot { reference.load() }

    /// How things stand with the files.
    public var state: FlagProviderState {
        let states = loaders.withLock { $0.map(\.state) }
        let status: FlagProviderState.Status =
            if states.allSatisfy({ $0.status == .current }) {
                .ready
            } else {
                states.contains { $0.status != .unavailable } ? .stale : .error
            }
        return FlagProviderState(status: status, sources: states, isSentinelPresent: sentinel?.isPresent ?? false)
    }

    /// Evaluates a flag whatever the type of its value is.
    public func resolve(_ key: String, context: EvaluationContext) -> Resolution {
        reporting(key, context, reference.load().resolve(key, context: context))
    }

    /// Evaluates a flag whose value must have one type; another type is a `TYPE_MISMATCH`.
    public func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) -> Resolution {
        reporting(key, context, reference.load().resolve(key, context: context).checked(type))
    }

    /// Evaluates all flags for one subject, in one state of the files and as of one time.
    public func resolveAll(context: EvaluationContext) -> [String: Resolution] {
        let resolutions = reference.load().resolveAll(context: context)
        guard !hooks.isEmpty else { return resolutions }
        for (key, resolution) in resolutions.sorted(by: { $0.key < $1.key }) { _ = reporting(key, context, resolution) }
        return resolutions
    }

    /// Passes the resolution of a flag of ``snapshot`` to the hooks, after it was used.
    package func tellHooks(_ key: String, _ context: EvaluationContext, _ resolution: Resolution) {
        for hook in hooks { hook.tell(key, context, resolution) }
    }

    private func reporting(_ key: String, _ context: EvaluationContext, _ resolution: Resolution) -> Resolution {
        tellHooks(key, context, resolution)
        return resolution
    }

    /// What pulls the kill switch, or nil where nothing does. Costs no system call: the files are looked at when they
    /// change.
    ///
    /// - Parameter context: For whom it is asked; the flag may have targeting. The sentinel file is for all.
    public func killSignal(context: EvaluationContext = EvaluationContext()) -> KillSignal? {
        if let sentinel, sentinel.isPresent { return .sentinel(path: sentinel.path) }
        guard let killFlag else { return nil }
        let snapshot = reference.load()
        guard let flag = snapshot.flags[killFlag] else { return nil }
        let resolution = flag.resolve(context, clock: snapshot.clock)
        guard case .bool(true) = resolution.value else { return nil }
        return .flag(key: killFlag, variant: resolution.variant ?? "")
    }

    /// Follows the files and the sentinel from now on, until ``stopWatching()`` or the provider's end.
    public func startWatching(_ options: WatchOptions = WatchOptions()) {
        let new = FlagFileWatcher(
            files: sources.map(\.path),
            sentinels: sentinel.map { [$0.path] } ?? [],
            options: options,
            logger: logger
        ) { [weak self] paths in
            self?.reload(paths) ?? [:]
        }
        watcher.withLock { watcher in
            watcher?.stop()
            watcher = new
        }
    }

    /// Stops following the files; the flags stay unchanged.
    public func stopWatching() {
        watcher.withLock { watcher in
            watcher?.stop()
            watcher = nil
        }
    }

    /// Reads all files, and looks for the sentinel file, now.
    public func reload() {
        _ = lookForSentinel()
        read { _ in true }
    }

    /// Checks for the sentinel file, and reads files that may have changed since they were last read: before acting on flags, since the process may have
    /// been stopped for a while, or no thread may be watching. Costs one system call per file.
    ///
    /// A changed file is first left to stop changing, like a watched one. If the sentinel file exists, nothing else is read: it is enough,
    /// whatever happens to the other files' disk.
    public func refresh() {
        _ = lookForSentinel()
        guard sentinel?.isPresent != true else { return }
        let changed = loaders.withLock { $0.filter(\.isChanged) }
        letRest(changed)
        read(where: \.mayBeChanged)
    }

    /// Waits until files are not being written any more, for a limited time.
    private func letRest(_ changed: [FlagSourceLoader]) {
        var fingerprints = changed.map(\.fingerprint)
        for _ in 0..<WatchLoop.restPatience where !fingerprints.isEmpty {
            Thread.sleep(forTimeInterval: Double(WatchOptions().settleMilliseconds) / 1_000)
            let last = fingerprints
            fingerprints = changed.map(\.fingerprint)
            if fingerprints == last { return }
        }
    }

    /// Reads the paths that the watcher reported.
    ///
    /// - Returns: The state in which each was read.
    private func reload(_ paths: Set<String>) -> [String: FileFingerprint] {
        var seen: [String: FileFingerprint] = [:]
        if let sentinel, paths.contains(sentinel.path) { seen[sentinel.path] = lookForSentinel() }
        read(where: { paths.contains($0.state.source.path) }) { seen[$0.state.source.path] = $0.readFingerprint }
        return seen
    }

    private func lookForSentinel() -> FileFingerprint? {
        guard let sentinel else { return nil }
        let seen = SentinelFile.fingerprint(sentinel.path)
        guard sentinel.update(to: seen) else { return seen }
        metrics.recordSentinel(isPresent: sentinel.isPresent)
        logSentinel(sentinel)
        onEvent(.sentinelChanged(isPresent: sentinel.isPresent))
        return seen
    }

    private func read(
        where isMeant: (FlagSourceLoader) -> Bool,
        onRead: (FlagSourceLoader) -> Void = { _ in }
    ) {
        var events: [FlagProviderEvent] = []
        loaders.withLock { loaders in
            let wasReady = loaders.allSatisfy { $0.state.status == .current }
            var isPublished = false
            for index in loaders.indices where isMeant(loaders[index]) {
                let outcome = measured { loaders[index].reload() }
                onRead(loaders[index])
                if outcome != .unchanged && outcome != .failedAgain { isPublished = true }
                note(outcome, loaders[index].state, &events)
            }
            guard isPublished else { return }
            let merged = FlagLayers.merged(
                loaders.map(\.layer),
                sources: sources.map(\.path),
                configuration: configuration
            )
            reference.store(merged)
            let states = loaders.map(\.state)
            metrics.record(states)
            if !wasReady, states.allSatisfy({ $0.status == .current }) { events.append(.ready) }
        }
        for event in events { onEvent(event) }
    }

    private func logSentinel(_ sentinel: SentinelFile) {
        let what = sentinel.isPresent ? "is there" : "is gone"
        logger.notice("the sentinel file \(what)", metadata: ["path": "\(sentinel.path)"])
    }

    private func measured(_ reload: () -> FlagSourceLoader.Outcome) -> FlagSourceLoader.Outcome {
        let start = ContinuousClock.now
        let outcome = reload()
        let duration = (ContinuousClock.now - start).components
        let nanoseconds = duration.seconds * 1_000_000_000 + duration.attoseconds / 1_000_000_000
        switch outcome {
        case .changed: metrics.reloaded(.changed, nanoseconds: nanoseconds)
        case .unchanged: metrics.reloaded(.unchanged, nanoseconds: nanoseconds)
        case .failed, .failedAgain: metrics.reloaded(.failed, nanoseconds: nanoseconds)
        }
        return outcome
    }

    private func note(
        _ outcome: FlagSourceLoader.Outcome,
        _ state: FlagSourceState,
        _ events: inout [FlagProviderEvent]
    ) {
        let path = state.source.path
        switch outcome {
        case .unchanged, .failedAgain:
            return
        case .changed(let keys):
            if !keys.isEmpty { events.append(.configurationChanged(path: path, keys: keys)) }
            logger.notice("flags loaded", metadata: ["path": "\(path)", "digest": "\(state.digest ?? "")"])
            for (_, error) in state.quarantined.sorted(by: { $0.key < $1.key }).prefix(FlagLimits.warnings) {
                logger.error("a flag is quarantined: \(error)")
            }
            for warning in state.warnings { logger.warning("\(warning)") }
        case .failed(let error):
            let isKept = state.status == .lastGood
            events.append(isKept ? .stale(path: path, error) : .error(path: path, error))
            logger.error(
                "\(isKept ? "the last good flags stay in force" : "there are no flags"): \(error)",
                metadata: ["salvaged": "\(state.salvagedKillFlags.joined(separator: ", "))"]
            )
        }
    }
}

/// How things stand with all files.
public struct FlagProviderState: Sendable {
    /// OpenFeature's states of a provider.
    public enum Status: String, Sendable {
        /// Every file is in force in its current form.
        case ready = "READY"
        /// Of some file the last good flags, or none, are in force.
        case stale = "STALE"
        /// No file was ever good: all evaluations give the caller's default.
        case error = "ERROR"
    }

    /// The state of the whole.
    public let status: Status
    /// The state of each file, in the order of the sources.
    public let sources: [FlagSourceState]
    /// Whether the sentinel file is there.
    public let isSentinelPresent: Bool
}

/// Something that happened to the flags of a provider; the first four are OpenFeature's events.
public enum FlagProviderEvent: Sendable, Equatable {
    /// All files are in force again after one was not.
    case ready
    /// Flags of a file changed: those of the keys, in their order, are new, gone or defined otherwise. A file that comes
    /// back with the same flags changes nothing, however it is written.
    case configurationChanged(path: String, keys: [String])
    /// A file cannot be read, and its last good flags are in force.
    case stale(path: String, FlagError)
    /// A file cannot be read, and it has no last good flags.
    case error(path: String, FlagError)
    /// The sentinel file appeared or went.
    case sentinelChanged(isPresent: Bool)
}

/// An evaluation that served a variant to a user: what an experiment or an audit counts.
///
/// It contains nothing of the evaluation context; the subject is identified by a keyed hash.
public struct FlagExposure: Sendable, Hashable {
    /// The flag.
    public let flagKey: String
    /// The variant's name; nil where the caller's default was served.
    public let variant: String?
    /// Why it was this variant.
    public let reason: Reason
    /// The kind of the error; set exactly when ``reason`` is ``Reason/error``.
    public let errorCode: FlagError.Code?
    /// The HMAC-SHA256 of the targeting key under the hook's key, in hexadecimal digits; nil without a targeting key, or
    /// with an empty one.
    public let subject: String?
    /// The metadata `version` of the flag or the flag set, if it is a text.
    public let version: String?
}

/// An observer of each evaluation of a ``FlagProvider``.
public struct FlagExposureHook: Sendable {
    private let key: SymmetricKey
    private let onExposure: @Sendable (FlagExposure) -> Void

    /// Makes a hook.
    ///
    /// - Parameters:
    ///   - hashKey: The key for hashing targeting keys. The same key gives the same subject the same hash, on every device and after every
    ///     restart. With the key, one can find out whose hash it is by trying ids; without it, one cannot. Use at least 32 random bytes.
    ///   - onExposure: Called on the evaluating thread, before the evaluation returns. It must be quick, and must not evaluate flags of the same
    ///     provider.
    public init(hashKey: Data, onExposure: @escaping @Sendable (FlagExposure) -> Void) {
        key = SymmetricKey(data: hashKey)
        self.onExposure = onExposure
    }

    func tell(_ flagKey: String, _ context: EvaluationContext, _ resolution: Resolution) {
        onExposure(
            FlagExposure(
                flagKey: flagKey,
                variant: resolution.variant,
                reason: resolution.reason,
                errorCode: resolution.errorCode,
                subject: subject(of: context),
                version: resolution.flagMetadata["version"]?.stringValue
            )
        )
    }

    private func subject(of context: EvaluationContext) -> String? {
        guard let id = context.targetingKey ?? context.attributes["targetingKey"]?.stringValue, !id.isEmpty else {
            return nil
        }
        return HMAC<SHA256>.authenticationCode(for: Array(id.utf8), using: key).hexadecimal
    }
}

/// The metrics; the table of ``FlagProvider`` explains each. Evaluations are not counted, since that would cost more than they do.
struct FlagMetrics: Sendable {
    enum Reload: String, CaseIterable { case changed, unchanged, failed }

    private let reloads: [Reload: Counter]
    private let duration: Metrics.Timer
    private let quarantined: Gauge
    private let staleSources: Gauge
    private let sentinel: Gauge

    init(factory: any MetricsFactory) {
        var reloads: [Reload: Counter] = [:]
        for result in Reload.allCases {
            reloads[result] = Counter(
                label: "habitstore_flag_reloads_total",
                dimensions: [("result", result.rawValue)],
                factory: factory
            )
        }
        self.reloads = reloads
        duration = Metrics.Timer(label: "habitstore_flag_reload_duration_seconds", factory: factory)
        quarantined = Gauge(label: "habitstore_flags_quarantined", factory: factory)
        staleSources = Gauge(label: "habitstore_flag_sources_stale", factory: factory)
        sentinel = Gauge(label: "habitstore_kill_sentinel_present", factory: factory)
    }

    func reloaded(_ result: Reload, nanoseconds: Int64) {
        reloads[result]?.increment()
        duration.recordNanoseconds(nanoseconds)
    }

    func record(_ states: [FlagSourceState]) {
        quarantined.record(states.reduce(0) { $0 + $1.quarantined.count })
        staleSources.record(states.count { $0.status != .current })
    }

    func recordSentinel(isPresent: Bool) { sentinel.record(isPresent ? 1 : 0) }
}

/// The flags in force. Reading takes no lock and never waits; a new snapshot replaces the old one atomically.
///
/// A reader needs a moment between loading the snapshot and retaining it, and during this moment it must not be released. So readers count
/// themselves in and out, in one of two counters. Before the writer releases what it replaced, it sends new readers to the other counter and waits
/// until the first is empty, and then the same the other way round: a reader that was delayed between choosing its counter and counting
/// itself in may still be in either.
final class SnapshotReference: Sendable {
    private let current: Atomic<Unmanaged<FlagSnapshot>>
    private let phase = Atomic<Int>(0)
    private let evenReaders = Atomic<Int>(0)
    private let oddReaders = Atomic<Int>(0)
    /// Replaced snapshots that are not released yet; the lock serialises writers.
    private let retired = Mutex<[Unmanaged<FlagSnapshot>]>([])

    /// How long a writer waits for readers, in milliseconds. Snapshots not released by then are released with the next one.
    private static let waitMilliseconds = 1000

    init(_ snapshot: FlagSnapshot) {
        current = Atomic(Unmanaged.passRetained(snapshot))
    }

    deinit {
        current.load(ordering: .sequentiallyConsistent).release()
        for snapshot in retired.withLock({ $0 }) { snapshot.release() }
    }

    func load() -> FlagSnapshot {
        if phase.load(ordering: .relaxed) & 1 == 0 {
            evenReaders.add(1, ordering: .sequentiallyConsistent)
            let snapshot = Self.retained(current.load(ordering: .sequentiallyConsistent))
            evenReaders.subtract(1, ordering: .sequentiallyConsistent)
            return snapshot
        }
        oddReaders.add(1, ordering: .sequentiallyConsistent)
        let snapshot = Self.retained(current.load(ordering: .sequentiallyConsistent))
        oddReaders.subtract(1, ordering: .sequentiallyConsistent)
        return snapshot
    }

    func store(_ snapshot: FlagSnapshot) {
        retired.withLock { retired in
            let new = Unmanaged.passRetained(snapshot)
            retired.append(current.exchange(new, ordering: .sequentiallyConsistent))
            guard waitForReaders() else { return }
            for snapshot in retired { snapshot.release() }
            retired.removeAll()
        }
    }

    private func waitForReaders() -> Bool {
        for _ in 0..<2 {
            let old = phase.load(ordering: .sequentiallyConsistent) & 1
            phase.store(1 - old, ordering: .sequentiallyConsistent)
            var waited = 0
            while readers(old) != 0 {
                guard waited < Self.waitMilliseconds else { return false }
                usleep(1000)
                waited += 1
            }
        }
        return true
    }

    private func readers(_ phase: Int) -> Int {
        phase == 0
            ? evenReaders.load(ordering: .sequentiallyConsistent)
            : oddReaders.load(ordering: .sequentiallyConsistent)
    }

    /// Not inlined or optimized, so that the retain cannot move past the reader counting itself out.
    @inline(never) @_optimize(none)
    private static func retained(_ snapshot: Unmanaged<FlagSnapshot>) -> FlagSnapshot { snapshot.takeUnretainedValue() }
}
