import ArgumentParser

/// `habitstore fleet`.
struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Moves all users of a root in waves that stop by themselves.",
        discussion: """
            A plan says how large the waves are, how long each is watched, how fast users are begun with, and what halts everything. \
            Who is in which wave is drawn once. Users are moved by the gate as `rollout advance` does it, as far as the flags want; \
            apps that move users by themselves (`advancesByItself`) are to leave that to the fleet.

            What a fleet keeps is in ROOT/fleet. The kill switch needs none of it.
            """,
        subcommands: [
            FleetPlanCommand.self, FleetRunCommand.self, FleetPauseCommand.self, FleetResumeCommand.self,
            FleetHaltCommand.self, FleetStatusCommand.self, FleetReportCommand.self, FleetAuditCommand.self,
            FleetMetricsCommand.self, FleetHooksCommand.self, FleetWhoCommand.self,
        ]
    )
}
