/// One of the two stores of a user, by its part in the rollout.
public enum StoreSide: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
    /// Where the user comes from.
    case old
    /// Where the user goes.
    case new

    /// The one that this is not.
    public var other: StoreSide { self == .old ? .new : .old }
}
