import ArgumentParser

/// Kills processes that write to a user's stores while the user is moved from one engine to the other, and looks what is
/// left. Crash points exist in debug builds only; a release build kills at random instants.
@main
struct CrashCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habitstore-crash",
        abstract: "Kill processes in the middle of writes and moves, and check that nothing is lost.",
        subcommands: [
            SweepCommand.self, GroupSweepCommand.self, MigrationSweepCommand.self, TangleSweepCommand.self,
            PowerCutCommand.self, ChildCommand.self, GroupChildCommand.self, MigrationChildCommand.self,
            TangleChildCommand.self,
        ]
    )
}
