/// The outcome of an evidence reset.
public struct EvidenceReset: Sendable, Hashable, Codable {
    /// The user's stage before the reset.
    public let from: Stage
    /// The name under which the old file is kept in the user's folder; nil if there was none.
    public let file: String?
}
