/// The gate's decision on a change of stage.
public struct GateDecision: Sendable, Hashable, Codable {
    /// Everything that keeps the gate closed; empty if it is open.
    public let reasons: [GateReason]
    /// The clean shadow reads that count in the user's present stage.
    public let cleanShadowReads: Int
    /// The rate of different reads is below this with 95 % confidence: 3 / ``cleanShadowReads``, by the rule of three
    /// (Hanley and Lippman-Hand, JAMA 249, 1983), and 1 at most. nil without clean reads.
    public let upperBound: Double?

    /// Whether the change may be made.
    public var isOpen: Bool { reasons.isEmpty }

    init(reasons: [GateReason], cleanShadowReads: Int) {
        self.reasons = reasons
        self.cleanShadowReads = cleanShadowReads
        upperBound = cleanShadowReads > 0 ? min(1, 3 / Double(cleanShadowReads)) : nil
    }
}
