/// One of a user's two stores, by its role in the rollout.
public enum StoreSide: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
    /// The store that the user comes from.
    case old
    /// The store that the user moves to.
    case new

    /// The other store.
    public var other: StoreSide { self == .old ? .new : .old }
}
