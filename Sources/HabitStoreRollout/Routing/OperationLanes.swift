import HabitStore
import Synchronization

/// The threads on which a user's async operations run: others as soon as anything may have changed about the way that they
/// go, so that what hangs in a store which the user is to be taken away from holds up nobody behind it.
final class OperationLanes: Sendable {
    private struct Lane {
        let word: UInt64
        let revision: Int
        let dispatcher: StoreDispatcher
    }

    private let label: String
    private let current = Mutex<Lane?>(nil)

    init(label: String) { self.label = label }

    /// The threads for operations that begin while the control file has this word and the flags this revision.
    func dispatcher(word: UInt64, revision: Int) -> StoreDispatcher {
        current.withLock { lane in
            if let lane, lane.word == word, lane.revision == revision { return lane.dispatcher }
            let made = Lane(word: word, revision: revision, dispatcher: StoreDispatcher(label: label))
            lane = made
            return made.dispatcher
        }
    }
}
