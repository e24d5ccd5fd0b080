import Foundation
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
        told(key, context, reference.load().resolve(key, context: context))
    }

    /// Evaluates a flag whose value must have one type; another type is a `TYPE_MISMATCH`.
    public func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) -> Resolution {
        told(key, context, reference.load().resolve(key, context: context).checked(type))
    }

    /// Evaluates all flags for one subject, in one state of the files and as of one time.
    public func resolveAll(context: EvaluationContext) -> [String: Resolution] {
        let resolutions = reference.load().resolveAll(context: context)
        guard !hooks.isEmpty else { return resolutions }
        for (key, resolution) in resolutions.sorted(by: { $0.key < $1.key }) { _ = told(key, context, resolution) }
        return resolutions
    }

    /// Passes the resolution of a flag of ``snapshot`` to the hooks, after it was used.
    package func tellHooks(_ key: String, _ context: EvaluationContext, _ resolution: Resolution) {
        for hook in hooks { hook.tell(key, context, resolution) }
    }

    private func told(_ key: String, _ context: EvaluationContext, _ resolution: Resolution) -> Resolution {
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
