import ArgumentParser

/// `habitstore draft`.
struct DraftCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "draft",
        abstract: "Adds, lists and changes drafts: unfinished texts.",
        subcommands: [
            DraftAddCommand.self, DraftListCommand.self, DraftShowCommand.self, DraftEditCommand.self,
            DraftDeleteCommand.self,
        ]
    )
}
