import ArgumentParser

/// Kills processes that write to a user's stores while the user is moved from one engine to the other, and checks what is left. The processes are
/// subcommands of this program, so that those of an earlier version start with the same arguments.
struct CrashCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crash",
        abstract: "Kill processes during writes and moves, and check that nothing is lost.",
        subcommands: [
            SweepCommand.self, GroupSweepCommand.self, MigrationSweepCommand.self, TangleSweepCommand.self,
            PowerCutCommand.self,
        ]
    )
}
