import ArgumentParser

/// `habitstore flags`.
struct FlagsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flags",
        abstract: "Checks, evaluates, explains and changes flag files, and pulls the kill switch.",
        subcommands: [
            FlagsLintCommand.self, FlagsEvaluateCommand.self, FlagsExplainCommand.self, FlagsSetCommand.self,
            FlagsKillCommand.self, FlagsRearmCommand.self,
        ]
    )
}
