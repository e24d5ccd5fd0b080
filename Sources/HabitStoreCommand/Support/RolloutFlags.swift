import FeatureFlags

/// What the command knows of the flags of a rollout.
enum RolloutFlags {
    /// The stage that a user is to be at.
    static let stage = "habit-store-stage"
    /// Whether everybody, or a user, is to go back at once.
    static let kill = "habit-store-kill"
    /// The name of the sentinel file under the root.
    static let sentinelName = "habit-store.kill"
    /// The stages in their order.
    static let stages = ["off", "dualwrite", "shadow", "live", "rampdown", "complete"]

    /// How the product evaluates its flags.
    static let configuration = FlagConfiguration(killFlags: [kill])

    /// Finds in a flag file what its author would not have wanted.
    static let linter = FlagLinter(
        stages: [StageOrder(flagKey: stage, values: stages)],
        configuration: configuration
    )
}
