/// How much of two stores is read to compare them.
public enum VerificationDepth: String, Sendable, Codable, CaseIterable {
    /// The digests that each store's own transactions keep are believed: equal ones tell equal contents, and where they
    /// differ only the records below them are read. Files, indexes and relationships are not looked at.
    case keptDigests
    /// Every record of both stores is read from its file, and kept digests are checked against what was read.
    case full
    /// As ``full``, and nothing kept is believed: no checkpoint is taken up, and what each store's own transactions read
    /// is compared with what its file holds.
    case paranoid
}
