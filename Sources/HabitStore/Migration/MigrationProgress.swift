/// How far a migration has come.
public struct MigrationProgress: Sendable {
    /// The version that the stage leads to.
    public let to: Schema.Version
    /// The number of the stage, from 1.
    public let stage: Int
    /// How many stages there are.
    public let stages: Int
    /// How many records were rewritten.
    public let done: Int
    /// How many have to be.
    public let total: Int
}
