import FeatureFlags
import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

struct RemoteConfiguration: Sendable {
    func value(of key: String, for user: String?) throws -> String? { key == RolloutFlags.stage ? "off" : nil }
    func onUpdate(_ body: @escaping @Sendable () -> Void) {}
}

let configuration = RemoteConfiguration()
let root = "root"
