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
    let killSwitch: KillSwitch
    /// Check for the sentinel file of each root of the kill switch; the first one, next to the users, also reads the flag file.
    let providers: [FlagProvider]
    let counter: Revision
    /// Asks the app's own provider; nil if the flags are in a file, or there are none.
    let provided: ProvidedFlags?
    private let ticker: Ticker?

    /// - Parameters:
    ///   - origin: where the flags come from; nil for none.
    ///   - hooks: receive each evaluation for a user.
    ///   - onLook: called now, whenever files have changed, and each time that rules may give another result.
    init(
        _ killSwitch: KillSwitch,
        keys: RolloutFlagKeys,
        origin: FlagOrigin?,
        options: RolloutOptions,
        onLook: @escaping @Sendable () -> Void = {}
    ) throws {
        let counter = Revision()
        (self.counter, self.keys, self.killSwitch) = (counter, keys, killSwitch)
        let onChange: @Sendable () -> Void = {
            counter.number.add(1, ordering: .releasing)
            onLook()
        }
        providers = try killSwitch.roots.enumerated().map { index, root in
            try FlagProvider(
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
        }
        provided = origin?.provider.map {
            ProvidedFlags($0, keys, waitSeconds: options.flagWaitSeconds, logger: options.logger)
        }
        ticker = options.followsFlags ? Ticker(everySeconds: options.recheckSeconds, onChange) : nil
        if options.followsFlags {
            for provider in providers { provider.startWatching() }
            origin?.provider?.watch(onChange)
        }
        onLook()
    }

    /// Reads the flag file, and the sentinel file next to the users.
    var provider: FlagProvider { providers[0] }

    /// Changes whenever a flag, the sentinel file or the time may have. Costs one atomic load.
    var revision: Int { counter.number.load(ordering: .acquiring) }

    /// Checks the files now, and makes the next answers ask a provider again. Call this before moving a user: if the process was suspended for an
    /// hour, acting on outdated flags would undo what happened meanwhile.
    func refresh(for subject: FlagSubject) {
        for provider in providers { provider.refresh() }
        subject.forgetAnswers()
    }

    /// Reads the flag file and checks the sentinel files now; the next use asks a provider again.
    func reload() {
        for provider in providers { provider.reload() }
        if provided != nil { counter.number.add(1, ordering: .releasing) }
    }

    // MARK: Answers

    /// The answers of the app's own provider about a user, asked for once per revision of the flags; nil if there is no provider. While a sentinel
    /// file exists, the provider is not asked, since the file decides.
    func answers(for subject: FlagSubject) -> ProvidedAnswers? {
        guard let provided else { return nil }
        if sentinel != nil {
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
    func directSwap(for subject: FlagSubject) -> String { "direct-" + identity(for: subject) }

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
    var notes: [String] { provider.notes }
}

/// The user for whom flags are evaluated. The app's attributes of the user may change while the user is open.
final class FlagSubject: Sendable {
    private struct State {
        var context: EvaluationContext
        /// Counts changes of the attributes.
        var revision = 1
        /// The provider's last answers, and the revision of the flags that they are for; nil once they must be asked for again.
        var answers: (ProvidedAnswers, flags: Int)?
        /// The last answers without a failure.
        var accepted: ProvidedAnswers?
    }

    private let state: Mutex<State>

    init(_ user: String, attributes: [String: FlagValue] = [:]) {
        state = Mutex(State(context: EvaluationContext(targetingKey: user, attributes: attributes)))
    }

    /// The evaluation context: the user and the attributes.
    var context: EvaluationContext { state.withLock { $0.context } }

    /// Changes whenever the attributes change.
    var revision: Int { state.withLock { $0.revision } }

    /// Sets the app's attributes of the user.
    ///
    /// - Returns: whether they have changed.
    func take(_ attributes: [String: FlagValue]) -> Bool {
        state.withLock { state in
            guard attributes != state.context.attributes else { return false }
            state.context.attributes = attributes
            state.revision += 1
            (state.answers, state.accepted) = (nil, nil)
            return true
        }
    }

    // MARK: Providers

    /// The last answers without a failure.
    var accepted: ProvidedAnswers? { state.withLock { $0.accepted } }

    /// Makes the next call ask the provider again.
    func forgetAnswers() { state.withLock { $0.answers = nil } }

    /// The provider's answers; asks it unless its answers are for this revision of the flags.
    ///
    /// - Parameter ask: receives the last answers without a failure. It runs without the lock.
    func answers(asOf flags: Int, _ ask: (EvaluationContext, ProvidedAnswers?) -> ProvidedAnswers) -> ProvidedAnswers {
        let (context, revision, known, accepted) = state.withLock { state in
            (state.context, state.revision, state.answers.flatMap { $0.flags == flags ? $0.0 : nil }, state.accepted)
        }
        if let known { return known }
        let answers = ask(context, accepted)
        state.withLock { state in
            // The answers concern outdated attributes if the app has changed them meanwhile.
            guard state.revision == revision else { return }
            state.answers = (answers, flags)
            if answers.failure == nil { state.accepted = answers }
        }
        return answers
    }
}
