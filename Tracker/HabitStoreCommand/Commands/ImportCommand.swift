import ArgumentParser

/// `habitstore import`.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports data of other apps, and of earlier versions of an app.",
        subcommands: [ImportFileCommand.self, ImportCoreDataCommand.self, ImportPreferencesCommand.self],
        defaultSubcommand: ImportFileCommand.self
    )
}
