import ArgumentParser

/// `habitstore rollout evidence`.
struct RolloutEvidenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evidence",
        abstract: "Shows what happened on a user's way, checks it, and keeps it short.",
        subcommands: [
            RolloutEvidenceListCommand.self, RolloutEvidenceVerifyCommand.self, RolloutEvidenceArchiveCommand.self,
            RolloutEvidenceResetCommand.self,
        ],
        defaultSubcommand: RolloutEvidenceListCommand.self
    )
}
