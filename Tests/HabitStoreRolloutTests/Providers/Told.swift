import FeatureFlags
import Synchronization

/// What a hook was told.
final class Told: Sendable {
    private let list = Mutex<[FlagExposure]>([])

    var all: [FlagExposure] { list.withLock { $0 } }

    func add(_ exposure: FlagExposure) { list.withLock { $0.append(exposure) } }
}
