/// How one query compared.
public struct QueryComparison: Sendable, Codable {
    /// The query's name.
    public var name: String
    /// Whether records, order and count are the same.
    public var matches: Bool
    /// Records that the first store gave; nil when it failed.
    public var countA: Int?
    /// Records that the second store gave; nil when it failed.
    public var countB: Int?
    /// How long the first store took.
    public var millisecondsA: Double
    /// How long the second store took.
    public var millisecondsB: Double
    /// How the first store answered it.
    public var planA: String
    /// How the second store answered it.
    public var planB: String
}
