/// The summary of all records before a line of the evidence, so that the gate need not read them.
///
/// It is written only after a chain that was found intact, and is itself a line of that chain.
public struct EvidenceCheckpoint: Sendable, Hashable, Codable {
    /// The number of records before it.
    public let records: Int
    /// The stores' anchor, which was found among the records; nil if they had none.
    public let anchor: EvidenceHead?
    let evidence: StageEvidence

    init(records: Int, anchor: EvidenceHead?, evidence: StageEvidence) {
        self.records = records
        self.anchor = anchor
        self.evidence = evidence
    }

    /// The user's stage, according to the records.
    public var stage: Stage { evidence.stage }
}
