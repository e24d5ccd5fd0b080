import HabitStore

/// Makes a ``RolloutCommand``'s engines for the servers in `--servers` and in stores' addresses.
///
/// <!-- example: inside NotesOperator -->
/// ```swift
/// static let servers: ServerEngines? = ServerEngines(anywhere: { try PostgresProvider() }) {
///     try PostgresProvider(name: $0, server: $1)
/// }
/// ```
public struct ServerEngines: Sendable {
    let anywhere: @Sendable () throws -> any EngineProvider
    let named: @Sendable (EngineName, String) throws -> any EngineProvider

    /// - Parameters:
    ///   - anywhere: makes the engine for stores whose address names the server.
    ///   - named: makes the engine of a server that users may be on, from its name in flag files and its connection URI.
    public init(
        anywhere: @escaping @Sendable () throws -> any EngineProvider,
        named: @escaping @Sendable (EngineName, String) throws -> any EngineProvider
    ) {
        (self.anywhere, self.named) = (anywhere, named)
    }
}
