import ArgumentParser

/// `habitstore server`.
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server",
        abstract: "Prepares a PostgreSQL server for stores, and reports what it lacks.",
        discussion: """
            The server is a libpq connection URI, postgresql://HOST,HOST/DATABASE?sslmode=verify-full. Missing parts \
            come from PGHOST, PGSERVICE and the like, and the password from PGPASSWORD or PGPASSFILE: an address with \
            a password is refused.
            """,
        subcommands: [ServerPrepareCommand.self, ServerCheckCommand.self]
    )
}
