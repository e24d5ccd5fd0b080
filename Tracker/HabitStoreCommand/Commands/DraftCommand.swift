import ArgumentParser

/// `habitstore draft`.
struct DraftCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "draft",
        abstract: "Keeps texts that are not finished.",
        subcommands: [
            DraftAddCommand.self, DraftListCommand.self, DraftShowCommand.self, DraftEditCommand.self,
            DraftDeleteCommand.self,
        ]
    )
}
