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

    /// The settings, and the stores under the root with this policy.
    func stores(
        queries: String? = nil,
        opensAsWritten: Bool = false
    ) async throws -> (settings: Settings, stores: UserStores) {
        let settings = try await Settings(userOptions)
        let path = policy ?? settings.policy
        return (
            settings,
            try settings.stores(
                gate: try path.map { try GatePolicy.load(path: $0) } ?? GatePolicy(),
                queries: queries,
                opensAsWritten: opensAsWritten
            )
        )
    }
}
