import FeatureFlags
import HabitStore
import HabitTracker
import StandardEngines

struct RemoteConfiguration: Sendable {
    func value(of key: String, for user: String?) throws -> String? { key == RolloutFlags.stage ? "off" : nil }
}

let configuration = RemoteConfiguration()
let root = "root"
