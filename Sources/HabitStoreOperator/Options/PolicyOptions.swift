import ArgumentParser
import HabitStoreRollout

/// For which users a command of `rollout` stands, and how much evidence its gate asks for.
struct PolicyOptions: ParsableArguments {
    @OptionGroup var userOptions: UserOptions

    @Option(
        help: ArgumentHelp(
            "A JSON file that says how much evidence the gate asks for.",
            discussion: "[$\(Tool.environment)_POLICY; default: habit-store.policy.json under the root, if it is there]"
        )
    )
    var policy: String?

    /// The settings, and the stores under the root with this policy. Those of earlier versions are opened as they were written:
    /// whoever verifies or moves users with a newer command does not lock out the programs that have not been updated yet.
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
