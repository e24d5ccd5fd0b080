@_spi(Engines) import HabitStore
import Synchronization

/// The threads of a user's async operations. They are replaced whenever the user's route may have changed, so that an operation that hangs in a store
/// that the user leaves delays none that come later.
final class OperationLanes: Sendable {
    private struct Lane {
        /// nil until it is known, if the first of its operations opens the user.
        var word: UInt64?
        let revision: Int
        let dispatcher: StoreDispatcher
    }

    private let label: String
    private let current = Mutex<Lane?>(nil)

    init(label: String) { self.label = label }

    /// The threads for operations that begin at this control word and this revision of the flags.
    ///
    /// - Parameter word: nil while the user is not open, so that no move can overtake an operation.
    func dispatcher(word: UInt64?, revision: Int) -> StoreDispatcher {
        current.withLock { lane in
            if let known = lane, known.revision == revision, word == nil || known.word == nil || known.word == word {
                lane?.word = known.word ?? word
                return known.dispatcher
            }
            let made = Lane(word: word, revision: revision, dispatcher: StoreDispatcher(label: label))
            lane = made
            return made.dispatcher
        }
    }

    /// Releases the threads; running operations finish.
    func release() { current.withLock { $0 = nil } }
}
