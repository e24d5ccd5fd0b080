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
