/// The two independent ways to pull a kill switch.
public struct KillSwitchTriggers: Sendable, Equatable {
    /// A flag that kills where its value is `true`; nil for none. It may have targeting.
    public var flagKey: String?
    /// The path of a ``SentinelFile``; nil for none.
    public var sentinelPath: String?

    /// Names the triggers.
    public init(flagKey: String? = nil, sentinelPath: String? = nil) {
        self.flagKey = flagKey
        self.sentinelPath = sentinelPath
    }
}

/// What pulled the kill switch.
public enum KillSignal: Sendable, Equatable, CustomStringConvertible {
    /// The sentinel file is there.
    case sentinel(path: String)
    /// The flag is `true`.
    case flag(key: String, variant: String)

    /// One line for logs and reports.
    public var description: String {
        switch self {
        case .sentinel(let path): "the sentinel file \(path) is there"
        case .flag(let key, let variant): "the flag \(key) is true (variant \(variant))"
        }
    }
}
