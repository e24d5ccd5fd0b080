/// What the gate is told of a user.
public struct GateFacts: Sendable, Hashable {
    /// The evidence.
    public var chain: EvidenceChain
    /// How many transactions the mirror is behind.
    public var lag: Int
    /// Whether the mirror was filled.
    public var isBackfilled: Bool
    /// Whether the kill switch is pulled for this user.
    public var isKilled: Bool
    /// The head of the evidence that the stores remember; nil when they remember none. Before they remember another one,
    /// the evidence has to be found to contain this one: otherwise what was cut off is forgotten.
    public var anchor: EvidenceHead?

    /// States the facts.
    public init(chain: EvidenceChain, lag: Int, isBackfilled: Bool, isKilled: Bool, anchor: EvidenceHead?) {
        self.chain = chain
        self.lag = lag
        self.isBackfilled = isBackfilled
        self.isKilled = isKilled
        self.anchor = anchor
    }
}
