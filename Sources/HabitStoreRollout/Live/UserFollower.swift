import Foundation
@_spi(Engines) import HabitStore
import Logging
import Synchronization

/// The live queries of a user, and the control file that notifies them of changes.
final class UserFollower: Sendable {
    let queries: LiveQueries
    private let path: String
    private let observation = Mutex(Weak())

    private struct Weak {
        weak var observation: ControlObservation?
    }

    init(_ context: UserContext) {
        path = context.directory.path + "/control"
        let (logger, metrics, folder) = (context.options.logger, context.metrics, context.directory.path)
        queries = LiveQueries(
            report: { difference in
                logger.error(
                    "a live query was wrong, and is run again after each change from now on: \(difference)",
                    metadata: ["folder": "\(folder)"]
                )
                metrics.liveQueryDiffered()
            },
            answered: { metrics.liveQueryAnswered(isPatched: $0) }
        )
    }

    /// Changes with each write and each move; nil if they cannot be observed.
    var changeNumber: UInt64? { observation.withLock { $0.observation }?.changeNumber }

    /// Calls `wake` after writes, until the result is released.
    func observe(_ wake: @escaping @Sendable () -> Void) -> ControlObservation {
        observation.withLock { known in
            if let known = known.observation { return known }
            let made = ControlObservation(path, wake)
            known.observation = made
            return made
        }
    }
}

/// Follows a user's control file, even if it is removed and recreated.
final class ControlObservation: Sendable {
    private struct Present {
        let watch: ControlWatch
        /// nil if the system cannot wait for it.
        let watched: ControlWatches.Watched?
    }

    private let path: String
    private let wake: @Sendable () -> Void
    private let present = Mutex<Present?>(nil)

    init(_ path: String, _ wake: @escaping @Sendable () -> Void) {
        (self.path, self.wake) = (path, wake)
        _ = changeNumber
    }

    /// Changes with each write and each move; nil if there is no control file.
    var changeNumber: UInt64? {
        present.withLock { present in
            if let watch = present?.watch, watch.isInPlace { return watch.changeNumber }
            // The next opening of the user recreates the file.
            present = (try? ControlWatch(path: path)).map {
                Present(watch: $0, watched: ControlWatches.shared.add($0, wake))
            }
            return present?.watch.changeNumber
        }
    }
}
