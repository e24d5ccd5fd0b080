/// What an erasure has removed, or would remove.
public struct ErasureOutcome: Sendable {
    /// Something that is kept about a user.
    public struct Item: Sendable, Hashable, Codable {
        /// What it is: `store`, `file`, `folder`, `backup`, `fleet`.
        public let kind: String
        /// Where it is, or was.
        public let place: String
        /// How many bytes it has; nil where that is not known.
        public let sizeBytes: Int?

        /// Names something.
        public init(kind: String, place: String, sizeBytes: Int? = nil) {
            (self.kind, self.place, self.sizeBytes) = (kind, place, sizeBytes)
        }
    }

    /// Whose.
    public let user: String
    /// What was removed, or would be.
    public internal(set) var items: [Item]
    /// What is out of reach, or may be, each in a sentence.
    public internal(set) var unreachable: [String]
    /// Whether it was removed.
    public internal(set) var isDone = false

    /// What was removed of two stores of the user.
    func joined(with other: ErasureOutcome) -> ErasureOutcome {
        var whole = self
        whole.items += other.items.filter { !items.contains($0) }
        whole.unreachable += other.unreachable.filter { !unreachable.contains($0) }
        whole.isDone = isDone && other.isDone
        return whole
    }
}
