@_spi(Engines) import HabitStore

/// What came of a restore.
public struct RestorationOutcome: Sendable {
    /// Whose.
    public let user: String
    /// The stage that the user is at.
    public let stage: Stage
    /// The engine of the store that serves.
    public let engine: EngineName
    /// The epoch from which on the backup counts.
    public let epoch: Int
    /// The token that the backup comes to.
    public let token: HistoryToken
    /// Whether there was no such user before.
    public let isNew: Bool
    /// What was given up by it, each in a sentence.
    public let givenUp: [String]
    /// Where the stores are that were set aside.
    public let aside: [String]
}
