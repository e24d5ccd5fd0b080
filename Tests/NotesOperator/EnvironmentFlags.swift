import FeatureFlags
import Foundation
import HabitStoreRollout

/// The app's own flags: the environment names the stage of all users.
struct EnvironmentFlags: RolloutFlagProvider {
    let stage: String

    /// The flags of this process; nil if the environment does not name a stage, and flags come from a file.
    init?() {
        guard let stage = ProcessInfo.processInfo.environment["NOTES_STAGE"] else { return nil }
        self.stage = stage
    }

    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution {
        guard key == RolloutFlags.stage else { return .missing(key) }
        return Resolution(value: .string(stage), variant: stage, reason: .static)
    }
}
