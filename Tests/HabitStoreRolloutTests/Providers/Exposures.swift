import FeatureFlags
import Synchronization

/// The exposures that a hook received.
final class Exposures: Sendable {
    private let list = Mutex<[FlagExposure]>([])

    var all: [FlagExposure] { list.withLock { $0 } }

    func add(_ exposure: FlagExposure) { list.withLock { $0.append(exposure) } }

    /// The exposures since the last call.
    func take() -> [FlagExposure] {
        list.withLock { list in
            defer { list = [] }
            return list
        }
    }
}
