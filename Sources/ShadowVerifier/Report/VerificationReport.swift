import Foundation
@_spi(Engines) import HabitStore

/// The result of comparing two stores.
///
/// `schemas/verification-report.schema.json` describes the JSON form.
public struct VerificationReport: Sendable, Codable {
    /// The format of the JSON form.
    public var formatVersion = 1
    /// The outcome as a whole.
    public var verdict: Verdict
    /// Why, in one sentence, where the verdict needs one.
    public var reason: String?
    /// The error that ended the comparison, or that a record gave which this version's models cannot read; nil when there was none.
    public var failure: Failure?
    /// The first store.
    public var a: Side
    /// The second store.
    public var b: Side
    /// Whether the differences show the user's values.
    public var showsValues = false
    /// The levels, in the order in which they were run.
    public var levels: [Level] = []
    /// The differences, the first ``VerificationOptions/maximumDifferences`` of them; those that no rule ignores go first
    /// where not all can be listed.
    public var differences: [StoreDifference] = []
    /// How many there are in all, those that are ignored among them.
    public var differenceCount = 0
    /// How many of them are ignored by a rule.
    public var ignoredCount = 0
    /// The ignore rules of the comparison, and what they did; in the order of their file.
    public var ignoreRules: [IgnoreRuleUse] = []
    /// Oddities of the data that both stores share, or that only the way the source wrote it shows.
    public var anomalies: [StoreAnomaly] = []
    /// The results of the queries.
    public var queries: [QueryComparison] = []
    /// The parts that were not compared, and why.
    public var notCompared: [String] = []
    /// What there is to know about how it was compared: that an interrupted verification was taken up, for one.
    public var notes: [String] = []

    /// How many differences no rule ignores.
    public var openDifferenceCount: Int { differenceCount - ignoredCount }

    /// How many rules ignored something.
    public var appliedRuleCount: Int { ignoreRules.count { $0.differences > 0 } }
}

extension VerificationReport {
    /// The outcome of a comparison as a whole.
    public enum Verdict: String, Sendable, Codable, CaseIterable {
        /// Nothing differs.
        case match
        /// Something differs, and no rule ignores it.
        case mismatch
        /// The stores stand at different tokens of one history and cannot be compared.
        case skewed
        /// Something differs, and named rules ignore all of it. Never as good as ``match``.
        case ignored
        /// A store could not be read to the end, or has records that this version's models cannot read; what was compared shows no
        /// difference that counts.
        case error
        /// The time limit came first; what was compared before shows no difference that counts.
        case timedOut
    }
}

extension VerificationReport {
    /// One level of a comparison.
    public struct Level: Sendable, Codable {
        /// `store checks`, `counts`, `contents`, `kept digests`, `own reading`, `relationships`, `history`, `queries`; for files also
        /// `declarations`, `indexes`, `tables of the app`.
        public var name: String
        /// How many things were compared.
        public var compared: Int
        /// The unit of the count: `records`, `links`, `queries`.
        public var unit: String
        /// How many differences it found, those that are ignored among them.
        public var differences: Int
        /// How long it took.
        public var seconds: Double
    }
}

extension VerificationReport {
    /// One of the two stores.
    public struct Side: Sendable, Codable {
        /// As it was named by the caller.
        public var name: String
        /// The store's information about itself.
        public var information: StoreInformation
        /// Records of each entity; rows of each table.
        public var counts: [String: Int]
        /// True for a file of another program, which has tables and no ``information`` of its own; otherwise nil.
        public var isFile: Bool?

        /// Its token and role in words, where it has any.
        package var position: (token: String, role: String) {
            guard isFile != true else { return ("–", "another program's file") }
            return (information.token.description, information.role.rawValue)
        }
    }
}

extension VerificationReport {
    /// The error that ended a comparison.
    public struct Failure: Sendable, Codable, Hashable {
        /// The stable name of ``HabitStoreError/Code``.
        public var code: String
        /// One sentence, without the user's values.
        public var message: String

        init(_ error: HabitStoreError) {
            code = error.code.rawValue
            message = error.description
        }
    }
}

extension VerificationReport {
    /// Counts a difference, and lists it with its identifier and the rule that ignores it.
    ///
    /// - Parameter limit: how many are listed.
    /// - Returns: the identifier; nil when it is counted only.
    mutating func note(_ difference: StoreDifference, limit: Int) -> String? {
        var difference = difference
        differenceCount += 1
        if let position = ignoreRules.firstIndex(where: { !$0.isExpired && $0.rule.covers(difference) }) {
            ignoreRules[position].differences += 1
            ignoredCount += 1
            difference.ignoredBy = ignoreRules[position].rule.name
        }
        guard makeRoom(for: difference, limit: limit) else { return nil }
        difference.distinguish(from: differences)
        differences.append(difference)
        return difference.differenceID
    }

    /// Ignored differences never keep others from being listed.
    private mutating func makeRoom(for difference: StoreDifference, limit: Int) -> Bool {
        if differences.count < limit { return true }
        guard ignoredCount > 0, difference.ignoredBy == nil,
            let last = differences.lastIndex(where: { $0.ignoredBy != nil })
        else { return false }
        differences.remove(at: last)
        return true
    }

    /// Sets the verdict of a comparison that finished.
    mutating func conclude() {
        if openDifferenceCount > 0 {
            verdict = .mismatch
        } else if failure != nil {
            verdict = .error
        } else {
            verdict = ignoredCount > 0 ? .ignored : .match
        }
    }

    /// Draws the verdict of a comparison that was cut short: a difference stays one, and without any nothing is proven.
    mutating func conclude(cutShort verdict: Verdict, at level: String, reason: String) {
        self.verdict = openDifferenceCount > 0 ? .mismatch : verdict
        self.reason = reason
        notCompared.append("\(level), and the levels after it: \(reason)")
    }
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
