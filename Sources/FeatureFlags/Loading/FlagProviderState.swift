/// How things stand with all files.
public struct FlagProviderState: Sendable {
    /// OpenFeature's states of a provider.
    public enum Status: String, Sendable {
        /// Every file is in force in its current form.
        case ready = "READY"
        /// Of some file the last good flags, or none, are in force.
        case stale = "STALE"
        /// No file was ever good: all evaluations give the caller's default.
        case error = "ERROR"
    }

    /// The state of the whole.
    public let status: Status
    /// The state of each file, in the order of the sources.
    public let sources: [FlagSourceState]
    /// Whether the sentinel file is there.
    public let isSentinelPresent: Bool
}
