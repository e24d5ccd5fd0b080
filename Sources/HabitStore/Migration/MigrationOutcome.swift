/// What a migration did.
public struct MigrationOutcome: Sendable, Hashable, Codable {
    /// The version that the store has reached.
    public let version: Schema.Version
    /// The stages, in order; none when the store was of that version already.
    public internal(set) var steps: [MigrationStep]
    /// The copies of the store as it was before stages with hooks or that drop something.
    public internal(set) var backups: [String]
}
