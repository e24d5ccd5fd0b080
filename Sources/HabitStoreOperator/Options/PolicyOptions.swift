import ArgumentParser
import HabitStoreRollout

/// The users that a `rollout` command is for, and the evidence that its gate asks for.
struct PolicyOptions: ParsableArguments {
    @OptionGroup var userOptions: UserOptions

    @Option(
        help: ArgumentHelp(
            "A JSON file that says how much evidence the gate asks for.",
            discussion: "[$\(Tool.environment)_POLICY; default: habit-store.policy.json under the root, if it is there]"
        )
    )
    var policy: String?

    /// The settings, and the stores under the root with this policy. Stores of earlier schema versions stay unmigrated: verifying or moving users
    /// with a newer command must not lock out programs that are not updated yet.
    func stores(
        queries: String? = nil,
        otherVersions: RolloutOptions.OtherVersions = .asWritten
    ) async throws -> (settings: Settings, stores: UserStores) {
        let settings = try await Settings(userOptions)
        let path = policy ?? settings.policy
        return (
            settings,
            try settings.stores(
                gate: try path.map { try GatePolicy.load(path: $0) } ?? GatePolicy(),
                queries: queries,
                otherVersions: otherVersions
            )
        )
    }
}
