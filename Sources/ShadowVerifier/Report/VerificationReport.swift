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
