/// The outcome of a backup.
public struct BackupOutcome: Sendable {
    /// The backup.
    public let backup: UserBackup
    /// The removed drafts of backups whose processes had died.
    public let removed: [String]
}
