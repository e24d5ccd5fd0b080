import ArgumentParser

/// `habitstore fleet`.
struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Moves all users of a root in waves, and stops at the first bad sign.",
        discussion: """
            A plan says how large the waves are, how long each is watched, how fast moves may start, and what halts \
            the fleet. The waves are drawn once. Users are moved through the gate as by `rollout advance`, and no \
            further than the flags want. If your app moves users (`advancesByItself`), set that to false and leave it \
            to the fleet.

            A fleet keeps its files in ROOT/fleet. The kill switch needs none of them.
            """,
        subcommands: [
            FleetPlanCommand.self, FleetRunCommand.self, FleetPauseCommand.self, FleetResumeCommand.self,
            FleetHaltCommand.self, FleetStatusCommand.self, FleetReportCommand.self, FleetAuditCommand.self,
            FleetMetricsCommand.self, FleetHooksCommand.self, FleetWhoCommand.self,
        ]
    )
}
