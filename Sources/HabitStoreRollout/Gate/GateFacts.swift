/// The gate's facts about a user.
public struct GateFacts: Sendable, Hashable {
    /// The summary of the evidence, and whether it contains the stores' anchor. Before the stores get another anchor, the evidence must be found to
    /// contain the old one; otherwise a cut-off would be forgotten.
    public var evidence: EvidenceSummary
    /// How many transactions the mirror lags.
    public var lag: Int
    /// Whether the mirror was filled.
    public var isBackfilled: Bool
    /// Whether the mirror has diverged from the serving store, so that it cannot follow.
    public var isMirrorParted: Bool
    /// Whether the kill switch is pulled for this user.
    public var isKilled: Bool
    /// Whether something was seen that could not be written to the evidence yet.
    public var owesEvidence: Bool

    /// Collects the facts.
    public init(
        evidence: EvidenceSummary,
        lag: Int,
        isBackfilled: Bool,
        isKilled: Bool,
        isMirrorParted: Bool = false,
        owesEvidence: Bool = false
    ) {
        self.evidence = evidence
        self.lag = lag
        self.isBackfilled = isBackfilled
        self.isKilled = isKilled
        self.isMirrorParted = isMirrorParted
        self.owesEvidence = owesEvidence
    }
}
