import ArgumentParser

/// `habitstore import`.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Brings in what other apps have written.",
        subcommands: [ImportCoreDataCommand.self]
    )
}
