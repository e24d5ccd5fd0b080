/// What the gate is told of a user.
public struct GateFacts: Sendable, Hashable {
    /// What the evidence comes to, and whether it contains what the stores remember of it. Before they remember another
    /// place, it has to be found to contain that: otherwise what was cut off is forgotten.
    public var evidence: EvidenceSummary
    /// How many transactions the mirror is behind.
    public var lag: Int
    /// Whether the mirror was filled.
    public var isBackfilled: Bool
    /// Whether the mirror has gone another way than the store that serves, so that it cannot follow.
    public var isMirrorParted: Bool
    /// Whether the kill switch is pulled for this user.
    public var isKilled: Bool
    /// Whether something was seen that the evidence could not take yet.
    public var owesEvidence: Bool

    /// States the facts.
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
