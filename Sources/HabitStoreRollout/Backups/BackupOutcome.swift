/// What came of a backup.
public struct BackupOutcome: Sendable {
    /// The backup.
    public let backup: UserBackup
    /// Drafts of backups that a process which died has left, and that were removed.
    public let removed: [String]
}
