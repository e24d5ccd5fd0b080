extension VerificationReport {
    /// The outcome of a comparison as a whole.
    public enum Verdict: String, Sendable, Codable, CaseIterable {
        /// Nothing differs.
        case match
        /// Something differs, and no rule ignores it.
        case mismatch
        /// The stores stand at different tokens of one history and cannot be compared.
        case skewed
        /// Something differs, and named rules ignore all of it. Never as good as ``match``.
        case ignored
        /// A store could not be read to the end, or has records that this version's models cannot read; what was compared shows no
        /// difference that counts.
        case error
        /// The time limit came first; what was compared before shows no difference that counts.
        case timedOut
    }
}
