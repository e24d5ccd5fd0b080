import ArgumentParser

/// Trials that run as long as you let them: random queries, damaged flags, killed processes, reads during writes, and failing servers. Crash points
/// exist
/// only in debug builds; a release build kills at random instants.
@main
struct TrialsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habitstore-trials",
        abstract: "Run for hours what the tests run for seconds.",
        subcommands: [
            FuzzCommand.self, LiveFuzzCommand.self, FlagFuzzCommand.self, CrashCommand.self, SoakCommand.self,
            LiveRolloutCommand.self, FailoverCommand.self, TrafficCommand.self, FleetDrillCommand.self,
            FleetGenerateCommand.self,
            CrashChildCommand.self, GroupChildCommand.self, MigrationChildCommand.self, LaunchChildCommand.self,
            ConcurrentChildCommand.self,
            LiveChildCommand.self, FleetRunChildCommand.self, FleetWriterChildCommand.self,
        ]
    )
}
