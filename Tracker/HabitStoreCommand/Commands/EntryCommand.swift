import ArgumentParser

/// `habitstore entry`.
struct EntryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "entry",
        abstract: "Lists and changes the entries of habits.",
        subcommands: [EntryListCommand.self, EntryEditCommand.self, EntryDeleteCommand.self]
    )
}
