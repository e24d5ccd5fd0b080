import ArgumentParser

/// `habitstore schema`.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Checks schemas: the one that ships, or a file's.",
        subcommands: [SchemaLintCommand.self]
    )
}
