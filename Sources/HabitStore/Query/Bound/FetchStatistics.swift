/// How much work a query was.
public struct FetchStatistics: Sendable, Hashable, Codable {
    /// Records that were examined: candidates from the engine, and those that it skipped itself. Rows that SQLite skips inside an index are counted
    /// only if the query is analyzed; see `ReadTransaction.analyze(_:)`.
    public var examined: Int
    /// Records that were reached through relationships, to tell whether a candidate fulfils the filter.
    public var followed: Int
    /// Records that were returned.
    public var returned: Int

    /// Counts; nothing yet, unless said otherwise.
    public init(examined: Int = 0, followed: Int = 0, returned: Int = 0) {
        self.examined = examined
        self.followed = followed
        self.returned = returned
    }

    /// Adds another query's work.
    static func += (left: inout FetchStatistics, right: FetchStatistics) {
        left.examined += right.examined
        left.followed += right.followed
        left.returned += right.returned
    }
}
