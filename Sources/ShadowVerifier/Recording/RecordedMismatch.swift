/// A difference, and what it was seen in.
struct RecordedMismatch: Sendable, Hashable, Codable {
    let difference: StoreDifference
    let evidence: MismatchEvidence
}
