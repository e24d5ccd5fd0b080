@_spi(Engines) import HabitStore
import Synchronization

/// The threads on which a user's async operations run: others as soon as anything may have changed about the way that they
/// go, so that what hangs in a store which the user is to be taken away from holds up nobody behind it.
final class OperationLanes: Sendable {
    private struct Lane {
        /// Nil until it is known, where the first of its operations opens the user.
        var word: UInt64?
        let revision: Int
        let dispatcher: StoreDispatcher
    }

    private let label: String
    private let current = Mutex<Lane?>(nil)

    init(label: String) { self.label = label }

    /// The threads for operations that begin while the control file has this word and the flags this revision.
    ///
    /// - Parameter word: nil while the user is not open, so that nobody can be moved behind an operation's back.
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

    /// Lets go of the threads; what runs on them is finished.
    func release() { current.withLock { $0 = nil } }
}
