/// The items that an erasure has removed, or would remove.
public struct ErasureOutcome: Sendable {
    /// Something kept about a user.
    public struct Item: Sendable, Hashable, Codable {
        /// The kind: `store`, `file`, `folder`, `backup`, `fleet`.
        public let kind: String
        /// Its place, even after its removal.
        public let place: String
        /// Its size in bytes; nil if unknown.
        public let sizeBytes: Int?

        /// Makes an item.
        public init(kind: String, place: String, sizeBytes: Int? = nil) {
            (self.kind, self.place, self.sizeBytes) = (kind, place, sizeBytes)
        }
    }

    /// The erased user.
    public let user: String
    /// The items that were removed, or would be.
    public internal(set) var items: [Item]
    /// Data that is, or may be, out of reach, one sentence each.
    public internal(set) var unreachable: [String]
    /// Whether it was removed, rather than only listed.
    public internal(set) var isDone = false

    /// The outcome for two stores of the user together.
    func joined(with other: ErasureOutcome) -> ErasureOutcome {
        var whole = self
        whole.items += other.items.filter { !items.contains($0) }
        whole.unreachable += other.unreachable.filter { !unreachable.contains($0) }
        whole.isDone = isDone && other.isDone
        return whole
    }
}
