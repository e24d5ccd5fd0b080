import ArgumentParser

/// The trials that run for as long as somebody lets them: random questions, damaged flags, processes that are killed, and
/// reads beside writers, servers that fail. Crash points exist in debug builds only; a release build kills at random instants.
@main
struct TrialsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habitstore-trials",
        abstract: "Try for hours what the tests try for seconds.",
        subcommands: [
            FuzzCommand.self, LiveFuzzCommand.self, FlagFuzzCommand.self, CrashCommand.self, SoakCommand.self,
            LiveRolloutCommand.self, FailoverCommand.self, TrafficCommand.self, FleetDrillCommand.self,
            FleetGenerateCommand.self,
            CrashChildCommand.self, GroupChildCommand.self, MigrationChildCommand.self, TangleChildCommand.self,
            LiveChildCommand.self, FleetRunChildCommand.self, FleetWriterChildCommand.self,
        ]
    )
}
