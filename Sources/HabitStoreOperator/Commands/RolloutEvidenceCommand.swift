import ArgumentParser

/// `habitstore rollout evidence`.
struct RolloutEvidenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evidence",
        abstract: "Lists, checks, archives and resets a user's evidence.",
        subcommands: [
            RolloutEvidenceListCommand.self, RolloutEvidenceVerifyCommand.self, RolloutEvidenceArchiveCommand.self,
            RolloutEvidenceResetCommand.self,
        ],
        defaultSubcommand: RolloutEvidenceListCommand.self
    )
}
