import HabitStore

/// What a verification compares, and what it shows.
public struct VerificationOptions: Sendable {
    /// The queries to compare.
    public var queries: [QueryFile.Query] = []
    /// Results that both stores must give.
    public var expectations: Expectations?
    /// Whether the report holds the user's values; otherwise only their kinds and lengths.
    public var showsValues = false
    /// How many differences are listed; all of them are counted.
    public var maximumDifferences = 1_000
    /// How often, and how long in all, equal tokens are waited for while writers are at work.
    public var tokenTries = 20

    /// The defaults: everything but queries.
    public init() {}
}
