import HabitStore

/// How a ``RolloutCommand`` makes engines of the servers that `--servers` and addresses of stores name.
///
/// ```swift
/// static let servers: ServerEngines? = ServerEngines(anywhere: { try PostgresProvider() }) {
///     try PostgresProvider(name: $0, server: $1)
/// }
/// ```
public struct ServerEngines: Sendable {
    let anywhere: @Sendable () throws -> any EngineProvider
    let named: @Sendable (EngineName, String) throws -> any EngineProvider

    /// - Parameters:
    ///   - anywhere: makes the engine of stores whose address says on which server they are.
    ///   - named: makes the engine of a server on which users may be, of the name that flag files have for it and of its connection URI.
    public init(
        anywhere: @escaping @Sendable () throws -> any EngineProvider,
        named: @escaping @Sendable (EngineName, String) throws -> any EngineProvider
    ) {
        (self.anywhere, self.named) = (anywhere, named)
    }
}
