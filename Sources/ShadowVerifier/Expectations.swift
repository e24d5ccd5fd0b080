import Foundation
import HabitStore

/// The expected contents of a fixture, computed without any store, so that two stores agreeing on nothing does not pass.
public struct Expectations: Sendable, Codable, Equatable {
    /// The expected result of a query.
    public struct QueryResult: Sendable, Codable, Equatable {
        /// The number of records.
        public var count: Int
        /// The identifiers in order, the first ``Expectations/listedIdentifiers`` of them.
        public var identifiers: [UUID]

        /// Makes a result.
        public init(count: Int, identifiers: [UUID]) {
            self.count = count
            self.identifiers = identifiers
        }
    }

    /// How many identifiers of a result are listed.
    public static let listedIdentifiers = 20

    /// The fixture's description, for people.
    public var description: String
    /// The history token.
    public var token: Int64
    /// Records of each entity.
    public var counts: [String: Int]
    /// For each kind of anomaly, how many records show it in the fixture itself.
    public var anomalies: [String: Int]
    /// For each query of the query file, its result.
    public var queries: [String: QueryResult]

    /// Makes expectations.
    public init(
        description: String,
        token: Int64,
        counts: [String: Int],
        anomalies: [String: Int],
        queries: [String: QueryResult]
    ) {
        self.description = description
        self.token = token
        self.counts = counts
        self.anomalies = anomalies
        self.queries = queries
    }

    /// Reads a file of expectations.
    public static func load(path: String) throws -> Expectations {
        try JSONFile.load(path: path, what: "a file of expected results")
    }
}
