/// Something that happened to the flags of a provider; the first four are OpenFeature's events.
public enum FlagProviderEvent: Sendable, Equatable {
    /// All files are in force again after one was not.
    case ready
    /// Flags of a file changed: those of the keys, in their order, are new, gone or defined otherwise. A file that comes
    /// back with the same flags changes nothing, however it is written.
    case configurationChanged(path: String, keys: [String])
    /// A file cannot be read, and its last good flags are in force.
    case stale(path: String, FlagError)
    /// A file cannot be read, and it has no last good flags.
    case error(path: String, FlagError)
    /// The sentinel file appeared or went.
    case sentinelChanged(isPresent: Bool)
}
