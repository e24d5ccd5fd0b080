/// What the records before a line of the evidence come to, so that whoever judges by them need not read them.
///
/// It is written only behind a chain that was found whole, and is a line of that chain itself.
public struct EvidenceCheckpoint: Sendable, Hashable, Codable {
    /// How many records lie before it.
    public let records: Int
    /// What the stores remembered of the evidence, which was found among the records; nil when they remembered nothing.
    public let anchor: EvidenceHead?
    let evidence: StageEvidence

    init(records: Int, anchor: EvidenceHead?, evidence: StageEvidence) {
        self.records = records
        self.anchor = anchor
        self.evidence = evidence
    }

    /// The user's stage, as the records say.
    public var stage: Stage { evidence.stage }
}
