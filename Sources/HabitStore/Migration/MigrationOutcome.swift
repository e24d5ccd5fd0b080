/// The result of a migration.
public struct MigrationOutcome: Sendable, Hashable, Codable {
    /// The version that the store has reached.
    public let version: Schema.Version
    /// The stages, in order; none when the store was of that version already.
    public internal(set) var steps: [MigrationStep]
    /// The copies of the store made before stages that have hooks or drop something.
    public internal(set) var backups: [String]
}
