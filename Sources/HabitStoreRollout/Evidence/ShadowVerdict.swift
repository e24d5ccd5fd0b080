/// How a shadow read came out.
public enum ShadowVerdict: String, Sendable, Hashable, Codable, CaseIterable {
    /// The other store answered at the caller's token as the caller was answered: the same records in the same order, the
    /// same count, or the same error.
    case match
    /// It did not, or two stores that were asked again did not agree.
    case mismatch
    /// The other store had gone past the caller's token: the question was put to both at a later token, and they agreed. It
    /// says nothing of what the caller got, and is no ``match``.
    case rerun
    /// The stores could not be had at one token: nothing can be said.
    case skewed
    /// A store failed, for a reason that does not lie in the question.
    case error
    /// The comparison took too long.
    case timedOut
    /// There was no room for it.
    case shed
}
