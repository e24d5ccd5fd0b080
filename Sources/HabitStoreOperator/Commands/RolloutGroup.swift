import ArgumentParser

/// `habitstore rollout`.
struct RolloutGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollout",
        abstract: "Moves users from the old store to the new one, stage by stage, and back immediately.",
        discussion: """
            The stages are off, dualwrite, shadow, live, rampdown, complete. The flag file says which one is wanted. \
            Users move forward one stage at a time, through the gate; the way back is always open.
            """,
        subcommands: [
            RolloutStatusCommand.self, RolloutAdvanceCommand.self, RolloutPromoteCommand.self,
            RolloutDemoteCommand.self, RolloutVerifyCommand.self, RolloutRehearseCommand.self,
            RolloutEvidenceCommand.self, RolloutKillCommand.self, RolloutRearmCommand.self,
            RolloutDoctorCommand.self, RolloutResyncCommand.self, RolloutAdoptCommand.self, RolloutRetireCommand.self,
            RolloutRunbookCommand.self,
        ]
    )
}
