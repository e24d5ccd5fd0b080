import ArgumentParser

/// `habitstore verify`: the comparison itself, and the commands for recorded mismatches.
struct VerificationCommand: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify",
            abstract: "Compares two stores, and replays recorded mismatches.",
            usage: """
                \(Tool.name) verify A B
                \(Tool.name) verify --fixtures DIR
                \(Tool.name) verify --root ROOT --user USER
                \(Tool.name) verify list --from FILE
                \(Tool.name) verify replay ID --from FILE
                """,
            discussion: """
                Without a subcommand it compares; `\(Tool.name) help verify compare` lists the options. Write a store \
                whose path is the name of a subcommand with a folder, as ./replay.
                """,
            subcommands: [VerifyCommand.self, VerifyListCommand.self, VerifyReplayCommand.self],
            defaultSubcommand: VerifyCommand.self
        )
    }
}
