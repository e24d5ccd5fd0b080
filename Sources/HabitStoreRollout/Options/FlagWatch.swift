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
    var notes: [String] {
        provider.state.sources.compactMap { source in
            source.error.map { "the flag file changes nothing: \($0)" }
        }
    }
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

/// A kill switch that is pulled for a user.
struct PulledKill: Sendable {
    let text: String
    /// Where to record the kill for all users whom it concerns, until a person re-arms it; nil if it concerns single users, or is already recorded.
    var latch: KillLatch?
}

extension FlagWatch {
    /// The kill switch that is pulled for the user, as far as this process knows, or was pulled for all users and not re-armed. Does not ask the
    /// provider if a file decides.
    func pulledKill(for subject: FlagSubject) -> PulledKill? {
        for place in places {
            guard let path = place.sentinel else { continue }
            return PulledKill(text: KillSignal.sentinel(path: path).description, latch: place.latch)
        }
        if provided == nil, let signal = flagSignal(for: subject) {
            // The sentinel file may have appeared since the check above.
            if case .sentinel = signal { return PulledKill(text: signal.description, latch: latch) }
            return PulledKill(text: signal.description)
        }
        if let latch = places.map(\.latch).first(where: \.isSet) {
            return PulledKill(text: "the kill switch was pulled for everybody and not re-armed (\(latch.path))")
        }
        return provided == nil ? nil : flagSignal(for: subject).map { PulledKill(text: $0.description) }
    }

    /// The kill flag, if it is true for a user.
    private func flagSignal(for subject: FlagSubject) -> KillSignal? {
        guard provided != nil else { return provider.killSignal(context: subject.context) }
        return answers(for: subject)?.killVariant.map { .flag(key: keys.kill, variant: $0) }
    }

    /// - Throws: ``HabitStoreError/Code/unsupported`` while the kill switch is pulled, or a provider does not say whether it is; the message says
    ///   what to do.
    func requireNoKill(for subject: FlagSubject) throws {
        refresh(for: subject)
        let sentinel = places.lazy.compactMap(\.sentinel).first.map { KillSignal.sentinel(path: $0) }
        if let signal = sentinel ?? flagSignal(for: subject) {
            throw HabitStoreError(.unsupported, "the kill switch is still pulled: \(signal); take that away first")
        }
        if let answers = answers(for: subject), let failure = answers.failure {
            throw HabitStoreError(
                .unsupported,
                "it is unknown whether the kill switch is still pulled: \(answers.source): \(failure); re-arm once it answers"
            )
        }
        if let latch = places.map(\.latch).first(where: \.isSet) {
            throw HabitStoreError(
                .unsupported,
                "the kill switch was pulled for everybody; re-arm the whole root first",
                at: .init(path: latch.path)
            )
        }
    }
}
