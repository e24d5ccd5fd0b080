import ArgumentParser

/// `habitstore tag`.
struct TagCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tag",
        abstract: "Adds, lists and changes the tags of habits.",
        subcommands: [TagAddCommand.self, TagListCommand.self, TagRenameCommand.self, TagDeleteCommand.self]
    )
}
