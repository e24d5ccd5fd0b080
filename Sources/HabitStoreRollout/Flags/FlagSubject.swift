import FeatureFlags
import Synchronization

/// For whom flags are evaluated. What an app says about a user may change while the user is open.
final class FlagSubject: Sendable {
    private struct State {
        var context: EvaluationContext
        /// Counts what the app has said.
        var revision = 1
        /// What a provider has answered last, and as of which of the flags' revisions; nil once it is to be asked again.
        var answers: (ProvidedAnswers, flags: Int)?
        /// The last answers that could be acted on.
        var accepted: ProvidedAnswers?
    }

    private let state: Mutex<State>

    init(_ user: String, attributes: [String: FlagValue] = [:]) {
        state = Mutex(State(context: EvaluationContext(targetingKey: user, attributes: attributes)))
    }

    /// What the flags are evaluated for.
    var context: EvaluationContext { state.withLock { $0.context } }

    /// Another number than before when the app has said something else.
    var revision: Int { state.withLock { $0.revision } }

    /// The app says this about the user from now on.
    ///
    /// - Returns: whether that is something else than before.
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

    /// The last answers that could be acted on.
    var accepted: ProvidedAnswers? { state.withLock { $0.accepted } }

    /// The provider is to be asked again.
    func forgetAnswers() { state.withLock { $0.answers = nil } }

    /// What the provider says, asked unless it was as of this revision of the flags.
    ///
    /// - Parameter ask: is given the last answers that could be acted on. Nobody is kept waiting meanwhile.
    func answers(asOf flags: Int, _ ask: (EvaluationContext, ProvidedAnswers?) -> ProvidedAnswers) -> ProvidedAnswers {
        let (context, revision, known, accepted) = state.withLock { state in
            (state.context, state.revision, state.answers.flatMap { $0.flags == flags ? $0.0 : nil }, state.accepted)
        }
        if let known { return known }
        let answers = ask(context, accepted)
        state.withLock { state in
            // They are about somebody else where the app has said something else meanwhile.
            guard state.revision == revision else { return }
            state.answers = (answers, flags)
            if answers.failure == nil { state.accepted = answers }
        }
        return answers
    }
}
