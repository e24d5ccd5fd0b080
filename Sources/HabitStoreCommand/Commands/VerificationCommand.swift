import ArgumentParser

/// `habitstore verify`: the comparison itself, and what is done with the mismatches that one has recorded.
struct VerificationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compares two stores, and looks at recorded mismatches again.",
        usage: """
            habitstore verify A B
            habitstore verify --fixtures DIR
            habitstore verify --root ROOT --user USER
            habitstore verify list --from FILE
            habitstore verify replay ID --from FILE
            """,
        discussion: """
            `habitstore help verify compare` lists the options of a comparison, which is what is done when no subcommand is \
            named. A store whose path is the name of a subcommand is written with a folder, as ./replay.
            """,
        subcommands: [VerifyCommand.self, VerifyListCommand.self, VerifyReplayCommand.self],
        defaultSubcommand: VerifyCommand.self
    )
}
