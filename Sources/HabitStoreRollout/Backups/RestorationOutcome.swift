@_spi(Engines) import HabitStore

/// The outcome of a restore.
public struct RestorationOutcome: Sendable {
    /// The restored user.
    public let user: String
    /// The user's stage afterwards.
    public let stage: Stage
    /// The engine of the serving store.
    public let engine: EngineName
    /// The first epoch of the restored stores.
    public let epoch: Int
    /// The last token in the backup.
    public let token: HistoryToken
    /// Whether the user did not exist before.
    public let isNew: Bool
    /// The losses by the restore, one sentence each.
    public let givenUp: [String]
    /// The paths of the stores that were set aside.
    public let aside: [String]
}
