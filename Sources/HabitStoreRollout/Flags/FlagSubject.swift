import FeatureFlags
import Synchronization

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
