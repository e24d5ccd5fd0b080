import ArgumentParser

/// `habitstore import`.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Brings in what other apps, and earlier versions of an app, have kept.",
        subcommands: [ImportFileCommand.self, ImportCoreDataCommand.self, ImportPreferencesCommand.self],
        defaultSubcommand: ImportFileCommand.self
    )
}
