import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import Logging
import Metrics
import Synchronization

/// The flags that all users of a root share, with a number that changes whenever they may have.
final class FlagWatch: Sendable {
    /// Counts changes. It is a class of its own because the provider needs it before this exists.
    final class Revision: Sendable {
        let number = Atomic<Int>(1)
    }

    let keys: RolloutFlagKeys
    /// Where the kill switch is pulled for everybody: the stores' own folder, and the root for stores with a name.
    let places: [KillPlace]
    let counter: Revision
    /// Asks the app's own provider; nil where the flags are in a file, or there are none.
    let provided: ProvidedFlags?
    private let ticker: Ticker?

    /// - Parameters:
    ///   - roots: whose kill switches hold, the stores' own first.
    ///   - origin: where the flags are; nil for none.
    ///   - hooks: told of each evaluation for a user.
    ///   - onLook: is called now, whenever files have changed, and each time that rules may come out differently.
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
                // Of each process the sentinel beside its users is the one that is measured.
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

    /// The flag file, and the sentinel file beside the users.
    var provider: FlagProvider { places[0].files }

    /// The memory that the kill switch was pulled for all users of the stores.
    var latch: KillLatch { places[0].latch }

    /// Another number than before when a flag, the sentinel file or the time may have changed. Costs one atomic load.
    var revision: Int { counter.number.load(ordering: .acquiring) }

    /// Looks at the files now, where they may have changed, and has a provider asked again. Whoever is about to move a user does this
    /// first: the process may have been stopped for an hour, and then what it remembers would undo what was done meanwhile.
    func refresh(for subject: FlagSubject) {
        for place in places { place.files.refresh() }
        subject.forgetAnswers()
    }

    /// Reads the flag file and looks for the sentinel files now; a provider is asked again by whoever needs it.
    func reload() {
        for place in places { place.files.reload() }
        if provided != nil { counter.number.add(1, ordering: .releasing) }
    }

    // MARK: Answers

    /// What the app's own provider says about a user, asked once for a state of the flags; nil where there is none. It is not asked while
    /// a sentinel file is there, which says enough.
    func answers(for subject: FlagSubject) -> ProvidedAnswers? {
        guard let provided else { return nil }
        if places.contains(where: { $0.sentinel != nil }) {
            return subject.accepted ?? provided.unasked(because: "it is not asked while the sentinel file is there")
        }
        return subject.answers(asOf: revision, provided.ask)
    }

    /// What the flags want for a user, in one state of them.
    ///
    /// - Parameter isExposure: whether exposure hooks are told of it.
    func wanted(for subject: FlagSubject, _ engines: Engines, isExposure: Bool = false) -> WantedStage {
        let context = subject.context
        let tell: (String, Resolution) -> Void = { [provider] key, resolution in
            if isExposure { provider.tellHooks(key, context, resolution) }
        }
        if let answers = answers(for: subject) { return WantedStage(answers, engines, keys: keys, onResolution: tell) }
        let answers = FileAnswers(snapshot: provider.snapshot, context: context)
        return WantedStage(answers, engines, keys: keys, onResolution: tell)
    }

    // MARK: What tells flags from others

    /// What tells these flags, as they are now for a user, from others and from what they were: 16 hexadecimal digits.
    func identity(for subject: FlagSubject) -> String {
        answers(for: subject).map { XXHash64.digits(of: $0.identity) } ?? fileIdentity
    }

    /// What a user's state remembers of flags that have put the user on another engine directly.
    func directTurn(for subject: FlagSubject) -> String { "direct-" + identity(for: subject) }

    /// The same for what all users have in common.
    var identity: String { provided == nil ? fileIdentity : XXHash64.digits(of: "\(revision)") }

    private var fileIdentity: String {
        var text = ""
        for source in provider.state.sources {
            var status = stat()
            let isThere = stat(source.source.path, &status) == 0
            // An older file that is moved back into its place keeps the time at which it was written: that it was moved is the edit.
            #if canImport(Darwin)
            let changed = status.st_ctimespec
            #else
            let changed = status.st_ctim
            #endif
            text += "\(source.digest ?? "") \(isThere ? "\(changed.tv_sec).\(changed.tv_nsec)" : "")\n"
        }
        return XXHash64.digits(of: text)
    }

    /// Why the flags in force are not what the files say now, one line each.
    var notes: [String] {
        provider.state.sources.compactMap { source in
            source.error.map { "the flag file changes nothing: \($0)" }
        }
    }
}
