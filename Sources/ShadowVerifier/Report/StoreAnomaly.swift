import Foundation

/// An oddity of the data.
public struct StoreAnomaly: Sendable, Codable, Hashable {
    /// Which of the stores shows it.
    public enum Presence: String, Sendable, Codable {
        /// Both: it was carried over unchanged.
        case both
        /// The first only.
        case onlyA
        /// The second only.
        case onlyB
    }

    /// The kind, a stable word: `danglingReference`, `nonCanonicalText`.
    public var kind: String
    /// The entity.
    public var entity: String?
    /// The attribute or relationship.
    public var attribute: String?
    /// Which of the stores shows it.
    public var presence: Presence
    /// How many records show it.
    public var count: Int
    /// One of them.
    public var example: UUID?
}
