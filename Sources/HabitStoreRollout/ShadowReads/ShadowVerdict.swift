/// How a shadow read came out.
public enum ShadowVerdict: String, Sendable, Hashable, Codable, CaseIterable {
    /// Both stores gave the same records in the same order.
    case match
    /// They did not.
    case mismatch
    /// The stores were at different tokens: nothing can be said.
    case skewed
    /// The shadow store failed.
    case error
    /// There was no room for it.
    case shed
}
