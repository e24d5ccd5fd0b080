import Foundation
import HabitStore

/// What a comparison of two stores came to.
public struct VerificationReport: Sendable, Codable {
    /// The outcome as a whole.
    public enum Verdict: String, Sendable, Codable {
        /// Nothing differs.
        case match
        /// Something differs.
        case mismatch
        /// The stores stand at different tokens of one history and cannot be compared.
        case skewed
    }

    /// One of the two stores.
    public struct Side: Sendable, Codable {
        /// As it was named by the caller.
        public var name: String
        /// What it knows about itself.
        public var information: StoreInformation
        /// Records of each entity.
        public var counts: [String: Int]
    }

    /// One level of the comparison.
    public struct Level: Sendable, Codable {
        /// `store checks`, `counts`, `contents`, `kept digests`, `own reading`, `relationships`, `history`, `queries`.
        public var name: String
        /// How many things were compared.
        public var compared: Int
        /// What they are: `records`, `links`, `queries`.
        public var unit: String
        /// How many differences it found.
        public var differences: Int
        /// How long it took.
        public var seconds: Double
    }

    /// The format of the JSON form.
    public var formatVersion = 1
    /// The outcome as a whole.
    public var verdict: Verdict
    /// Why, in one sentence, where the verdict needs one.
    public var reason: String?
    /// The first store.
    public var a: Side
    /// The second store.
    public var b: Side
    /// The levels, in the order in which they were run.
    public var levels: [Level] = []
    /// The differences, the first ``VerificationOptions/maximumDifferences`` of them.
    public var differences: [StoreDifference] = []
    /// How many there are in all.
    public var differenceCount = 0
    /// Oddities of the data that both stores share, or that only the way the source wrote it shows.
    public var anomalies: [StoreAnomaly] = []
    /// The results of the queries.
    public var queries: [QueryComparison] = []
    /// What was not compared, and why.
    public var notCompared: [String] = []
    /// What there is to know about how it was compared: that an interrupted verification was taken up, for one.
    public var notes: [String] = []
}

/// A difference between two stores.
public struct StoreDifference: Sendable, Codable, Hashable {
    /// The kinds.
    public enum Kind: String, Sendable, Codable {
        /// The number of records of an entity.
        case count
        /// A record that only the first store has.
        case missingInB
        /// A record that only the second store has.
        case missingInA
        /// An attribute with different values.
        case attribute
        /// A reference that leads to a record in one store and dangles in the other.
        case dangling
        /// A relationship whose two directions do not agree within one store.
        case inverse
        /// A link that stands in a record more than once.
        case duplicateLink
        /// A query that gives other records.
        case queryRecords
        /// A query that gives the same records in another order.
        case queryOrder
        /// A query that gives another count.
        case queryCount
        /// A query that fails in one store, or in another way.
        case queryError
        /// A store that contradicts itself.
        case damage
        /// A kept digest that is not that of the records below it: the file was changed past the store's transactions.
        case digest
        /// A history transaction that differs, or that only one store has.
        case history
        /// A record that a store's own transactions read otherwise than its file has it.
        case reading
        /// A result that is not the expected one, in both stores alike.
        case unexpected
    }

    /// What kind it is.
    public var kind: Kind
    /// One sentence, without the user's values.
    public var message: String
    /// The entity.
    public var entity: String?
    /// The record.
    public var id: UUID?
    /// The attribute or relationship.
    public var attribute: String?
    /// The name of the query.
    public var query: String?
    /// The value in the first store; redacted unless values were asked for.
    public var a: String?
    /// The value in the second store; redacted unless values were asked for.
    public var b: String?

    /// Describes a difference.
    public init(
        _ kind: Kind,
        _ message: String,
        entity: String? = nil,
        id: UUID? = nil,
        attribute: String? = nil,
        query: String? = nil,
        a: String? = nil,
        b: String? = nil
    ) {
        self.kind = kind
        self.message = message
        self.entity = entity
        self.id = id
        self.attribute = attribute
        self.query = query
        self.a = a
        self.b = b
    }
}

/// An oddity of the data.
public struct StoreAnomaly: Sendable, Codable, Hashable {
    /// Which of the stores shows it.
    public enum Presence: String, Sendable, Codable {
        /// Both: it was carried across as it is.
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
