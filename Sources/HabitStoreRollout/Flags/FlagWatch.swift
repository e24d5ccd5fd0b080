import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Logging
import Metrics
import Synchronization

/// The flags that all users of a root share, with a number that changes whenever they may have changed.
final class FlagWatch: Sendable {
    /// Counts changes. A separate class because the provider needs it before the watch exists.
    final class Revision: Sendable {
        let number = Atomic<Int>(1)
    }

    let keys: RolloutFlagKeys
    /// The roots whose kill switch holds for these stores: their own, and for named stores also the outer root.
    let places: [KillPlace]
    let counter: Revision
    /// Asks the app's own provider; nil if the flags are in a file, or there are none.
    let provided: ProvidedFlags?
    private let ticker: Ticker?

    /// - Parameters:
    ///   - roots: the roots whose kill switches hold, the stores' own first.
    ///   - origin: where the flags come from; nil for none.
    ///   - hooks: receive each evaluation for a user.
    ///   - onLook: called now, whenever files have changed, and each time that rules may give another result.
    init(
        roots: [String],
        keys: RolloutFlagKeys,
        origin: FlagOrigin?,
        options: RolloutOptions,
        onLook: @escaping @Sendable () -> Void = {}
    ) throws {
        let counter = Revision()
        (self.counter, self.keys) = (counter, keys)
        let onChange: @Sendable () -> Void = {
            counter.number.add(1, ordering: .releasing)
            onLook()
        }
        places = try roots.enumerated().map { index, root in
            let files = try FlagProvider(
                sources: index == 0 ? origin?.path.map { [FlagSource(path: $0)] } ?? [] : [],
                killSwitch: KillSwitchTriggers(
                    flagKey: index == 0 ? keys.kill : nil,
                    sentinelPath: RolloutFlags.sentinelPath(root: root)
                ),
                logger: options.logger,
                // Of a process's sentinel files, only the one next to its own users is measured.
                metrics: index == 0 ? MetricsSystem.factory : NOOPMetricsHandler.instance,
                hooks: index == 0 ? options.exposureHooks : []
            ) { _ in onChange() }
            return KillPlace(files: files, latch: KillLatch(root: root))
        }
        provided = origin?.provider.map {
            ProvidedFlags($0, keys, waitSeconds: options.flagWaitSeconds, logger: options.logger)
        }
        ticker = options.followsFlags ? Ticker(everySeconds: options.recheckSeconds, onChange) : nil
        if options.followsFlags {
            for place in places { place.files.startWatching() }
            origin?.provider?.watch(onChange)
        }
        onLook()
    }

    /// Reads the flag file, and the sentinel file next to the users.
    var provider: FlagProvider { places[0].files }

    /// Records that the kill switch was pulled for all users of the stores.
    var latch: KillLatch { places[0].latch }

    /// Changes whenever a flag, the sentinel file or the time may have. Costs one atomic load.
    var revision: Int { counter.number.load(ordering: .acquiring) }

    /// Checks the files now, and makes the next answers ask a provider again. Call this before moving a user: if the process was suspended for an
    /// hour, acting on outdated flags would undo what happened meanwhile.
    func refresh(for subject: FlagSubject) {
        for place in places { place.files.refresh() }
        subject.forgetAnswers()
    }

    /// Reads the flag file and checks the sentinel files now; the next use asks a provider again.
    func reload() {
        for place in places { place.files.reload() }
        if provided != nil { counter.number.add(1, ordering: .releasing) }
    }

    // MARK: Answers

    /// The answers of the app's own provider about a user, asked for once per revision of the flags; nil if there is no provider. While a sentinel
    /// file exists, the provider is not asked, since the file decides.
    func answers(for subject: FlagSubject) -> ProvidedAnswers? {
        guard let provided else { return nil }
        if places.contains(where: { $0.sentinel != nil }) {
            return subject.accepted ?? provided.unasked(because: "it is not asked while the sentinel file is there")
        }
        return subject.answers(asOf: revision, provided.ask)
    }

    /// The stage that the flags want for a user, from one consistent state of the flags.
    ///
    /// - Parameter isExposure: whether to call exposure hooks.
    func wanted(for subject: FlagSubject, _ engines: Engines, isExposure: Bool = false) -> WantedStage {
        let context = subject.context
        let tell: (String, Resolution) -> Void = { [provider] key, resolution in
            if isExposure { provider.tellHooks(key, context, resolution) }
        }
        if let answers = answers(for: subject) { return WantedStage(answers, engines, keys: keys, onResolution: tell) }
        let answers = FileAnswers(snapshot: provider.snapshot, context: context)
        return WantedStage(answers, engines, keys: keys, onResolution: tell)
    }

    // MARK: Identity

    /// Identifies the present flags for a user: 16 hexadecimal digits that change when the flags do.
    func identity(for subject: FlagSubject) -> String {
        answers(for: subject).map { XXHash64.digits(of: $0.identity) } ?? fileIdentity
    }

    /// Identifies, in a user's state, the flags that moved the user directly to another engine.
    func directTurn(for subject: FlagSubject) -> String { "direct-" + identity(for: subject) }

    /// The same for all users together.
    var identity: String { provided == nil ? fileIdentity : XXHash64.digits(of: "\(revision)") }

    private var fileIdentity: String {
        var text = ""
        for source in provider.state.sources {
            var status = stat()
            let isThere = stat(source.source.path, &status) == 0
            // An older file that is moved back into place keeps its modification time; the move changes the status time.
            #if canImport(Darwin)
            let changed = status.st_ctimespec
            #else
            let changed = status.st_ctim
            #endif
            text += "\(source.digest ?? "") \(isThere ? "\(changed.tv_sec).\(changed.tv_nsec)" : "")\n"
        }
        return XXHash64.digits(of: text)
    }

    /// Why the flags in force differ from the files, one line each.
    var notes: [String] {
        provider.state.sources.compactMap { source in
            source.error.map { "the flag file changes nothing: \($0)" }
        }
    }
}
