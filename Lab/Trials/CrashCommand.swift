import ArgumentParser

/// Kills processes that write to a user's stores while the user is moved from one engine to the other, and looks what is
/// left. The processes that it kills are subcommands beside it, so that those of an earlier version start by the same words.
struct CrashCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crash",
        abstract: "Kill processes in the middle of writes and moves, and check that nothing is lost.",
        subcommands: [
            SweepCommand.self, GroupSweepCommand.self, MigrationSweepCommand.self, TangleSweepCommand.self,
            PowerCutCommand.self,
        ]
    )
}
