import ArgumentParser

/// `habitstore rollout`.
struct RolloutGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollout",
        abstract: "Moves users from the old store to the new one, stage by stage, and back at once.",
        discussion: """
            The stages are off, dualwrite, shadow, live, rampdown, complete. The flag file says which one is wanted; \
            forward it goes one stage at a time, through the gate, and back always.
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
