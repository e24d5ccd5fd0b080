import ArgumentParser

/// `habitstore server`.
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server",
        abstract: "Makes a PostgreSQL server ready for stores, and says what it lacks.",
        discussion: """
            The server is a connection URI of libpq's, postgresql://HOST,HOST/DATABASE?sslmode=verify-full; what it does not say is \
            taken from PGHOST, PGSERVICE and the like, and the password from PGPASSWORD or PGPASSFILE: an address with a password \
            is refused.
            """,
        subcommands: [ServerPrepareCommand.self, ServerCheckCommand.self]
    )
}
