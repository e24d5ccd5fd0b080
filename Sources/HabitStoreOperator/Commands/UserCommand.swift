import ArgumentParser

/// `habitstore user`.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "All of one user: a backup and putting it back, everything as JSON, and erasing it.",
        subcommands: [
            UserBackupCommand.self, UserRestoreCommand.self, UserExportCommand.self, UserEraseCommand.self,
        ]
    )
}

/// The user whom a command names by its first argument.
extension UserOptions {
    func requireNoUser() throws {
        guard user == nil else { throw ValidationError("the user is the first argument; leave --user away") }
    }
}
