import FeatureFlags
import Synchronization

/// The exposures that a hook received.
final class Told: Sendable {
    private let list = Mutex<[FlagExposure]>([])

    var all: [FlagExposure] { list.withLock { $0 } }

    func add(_ exposure: FlagExposure) { list.withLock { $0.append(exposure) } }
}
