import FeatureFlags
import FlagTools
import HabitStoreRollout

extension RolloutFlags {
    /// How the product evaluates its flags.
    static let configuration = FlagConfiguration(killFlags: [kill])

    /// Finds in a flag file what its author would not have wanted.
    static let linter = FlagLinter(
        stages: [StageOrder(flagKey: stage, values: Stage.allCases.map(\.rawValue))],
        configuration: configuration
    )
}
