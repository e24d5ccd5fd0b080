/// Something that happened to the flags of a provider; the first four are OpenFeature's events.
public enum FlagProviderEvent: Sendable, Equatable {
    /// All files are in force again after one was not.
    case ready
    /// The flags of a file changed.
    case configurationChanged(path: String)
    /// A file cannot be read, and its last good flags are in force.
    case stale(path: String, FlagError)
    /// A file cannot be read, and it has no last good flags.
    case error(path: String, FlagError)
    /// The sentinel file appeared or went.
    case sentinelChanged(isPresent: Bool)
}
