/// A place in an evidence log. A store that remembers it (an anchor) can tell later whether the log was cut off, or is another one.
public struct EvidenceHead: Sendable, Hashable, Codable {
    /// The number of the record; 0 before the first.
    public let sequence: Int
    /// The record's hash, 64 lower-case hexadecimal digits; all zeros before the first.
    public let hash: String

    /// Makes a head.
    public init(sequence: Int, hash: String) {
        self.sequence = sequence
        self.hash = hash
    }

    /// Before the first record.
    public static let start = EvidenceHead(sequence: 0, hash: String(repeating: "0", count: 64))
}
