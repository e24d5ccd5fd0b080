/// What became of evidence that was begun anew.
public struct EvidenceReset: Sendable, Hashable, Codable {
    /// The stage that the user was at.
    public let from: Stage
    /// The name under which the old file is kept in the user's folder; nil when there was none.
    public let file: String?
}
