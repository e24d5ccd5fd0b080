import HabitStore
import Synchronization

/// Collects what stores say of themselves on a thread that may hang in one of them.
final class StandingAnswers: Sendable {
    private let answers = Mutex(StandingsFound())

    /// What was said so far.
    var found: StandingsFound { answers.withLock { $0 } }

    /// Asks a store; nil when it is not there or cannot be read.
    func ask(_ engine: EngineName, _ pair: StorePair) -> Standing? {
        let answer = Result { try pair.standing(engine) }
        answers.withLock { $0.note(engine, answer, pair) }
        return try? answer.get()
    }
}
