import FeatureFlags
import Foundation
import HabitStoreRollout

/// Flags of the app's own: the stage that everybody is to be at is in the environment.
struct EnvironmentFlags: RolloutFlagProvider {
    let stage: String

    /// The process's; nil where the environment says nothing, and flags come from a file.
    init?() {
        guard let stage = ProcessInfo.processInfo.environment["NOTES_STAGE"] else { return nil }
        self.stage = stage
    }

    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution {
        guard key == RolloutFlags.stage else { return .missing(key) }
        return Resolution(value: .string(stage), variant: stage, reason: .static)
    }
}
