import ArgumentParser

/// `habitstore user`.
struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Backs up, restores, exports and erases a user, and lists the copies that migrations made.",
        subcommands: [
            UserBackupCommand.self, UserRestoreCommand.self, UserExportCommand.self, UserCopiesCommand.self,
            UserEraseCommand.self,
        ]
    )
}

/// The user that a command names by its first argument or with `--user`. There is no default: the user in the environment does not count.
extension UserOptions {
    /// - Parameter argument: the first argument; nil if there is none.
    /// - Throws: a usage error if neither names a user, or both do.
    func named(by argument: String?) throws -> String {
        guard users.count <= 1, (argument == nil) != users.isEmpty, let name = argument ?? user else {
            throw ValidationError("name one user, as the first argument or with --user")
        }
        return name
    }

    /// - Parameter arguments: the arguments, beginning with the user unless `--user` names one.
    /// - Returns: the user and the other arguments.
    func named(by arguments: [String]) throws -> (user: String, others: [String]) {
        if users.isEmpty { return (try named(by: arguments.first), Array(arguments.dropFirst())) }
        return (try named(by: nil), arguments)
    }
}
