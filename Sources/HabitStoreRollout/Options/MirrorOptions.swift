/// How a mirror follows the authoritative store, at the stages where that is the old one.
public struct MirrorOptions: Sendable {
    /// How long a write waits for the mirror, in seconds. After that the user counts as lagging, and the write returns.
    public var waitSeconds = 0.25
    /// How long the mirror keeps a write open that the authoritative store is committing, in seconds. After that the history carries it over.
    public var preparedWaitSeconds = 1.0
    /// How many records a copy writes in one transaction.
    public var copyChunk = 2_000
    /// How long a copy pauses after each chunk, in seconds.
    public var copyPauseSeconds = 0.005
    /// How long the mirror pauses after its first failure, in seconds; each further failure doubles it.
    public var retrySeconds = 0.1
    /// The longest pause between retries, in seconds.
    public var longestRetrySeconds = 30.0
    /// How long closing a user's store waits for the mirror to catch up, in seconds.
    public var closingWaitSeconds = 1.0

    /// Options with the defaults.
    public init() {}
}
