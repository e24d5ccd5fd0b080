import HabitStore
import Synchronization

/// Collects the status of stores on a thread that may hang in one of them.
final class StandingAnswers: Sendable {
    private let answers = Mutex(StandingsFound())

    /// The answers so far.
    var found: StandingsFound { answers.withLock { $0 } }

    /// Reads a store's status; nil if it does not exist or cannot be read.
    func ask(_ engine: EngineName, _ pair: StorePair) -> Standing? {
        let answer = Result { try pair.standing(engine) }
        answers.withLock { $0.note(engine, answer, pair) }
        return try? answer.get()
    }
}
