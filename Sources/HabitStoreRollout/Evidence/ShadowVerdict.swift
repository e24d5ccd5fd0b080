/// The outcome of a shadow read.
public enum ShadowVerdict: String, Sendable, Hashable, Codable, CaseIterable {
    /// At the caller's token, the other store gave the answer that the caller got: the same records in the same order, the same count, or the same
    /// error.
    case match
    /// The other store gave another answer, or two stores that were asked again disagreed.
    case mismatch
    /// The other store was past the caller's token, so both were asked at a later token, and they agreed. This says nothing about the caller's
    /// answer, and is not a ``match``.
    case rerun
    /// The stores could not be read at one token, so the outcome is unknown.
    case skewed
    /// A store failed, for a reason other than the query.
    case error
    /// The comparison took too long.
    case timedOut
    /// The comparison was dropped for lack of room.
    case shed
}
