import Foundation
import HabitStore

/// The scope of a verification, and what its report shows.
public struct VerificationOptions: Sendable {
    /// How much is read.
    public var depth = VerificationDepth.full
    /// The queries to compare.
    public var queries: [QueryFile.Query] = []
    /// Results that both stores must give.
    public var expectations: Expectations?
    /// Whether the report holds the user's values; otherwise only their kinds and lengths.
    public var showsValues = false
    /// How many differences are listed; all of them are counted.
    public var maximumDifferences = 1_000
    /// How often equal tokens are looked for while writers are at work, one or two milliseconds apart; for stores that
    /// stand still, no longer than half a second.
    public var tokenTries = 1_000
    /// A file that keeps how far a verification has come, so that one that was killed can be taken up; nil for none. It is
    /// gone once the verification has ended.
    public var checkpointPath: String?
    /// Records between two checkpoints.
    var checkpointRecords = 65_536
    /// Differences of these places are listed and do not count.
    public var ignoreRules = IgnoreRules.none
    /// The instant by which ignore rules have expired or not; nil for the time of the comparison.
    public var now: Date?
    /// How long the comparison may take; after that it ends as ``VerificationReport/Verdict/timedOut``. Nil for no limit.
    public var timeLimitSeconds: Double?
    /// Whether an error of a store that can be opened ends the comparison as ``VerificationReport/Verdict/error``, with
    /// what was found before it; otherwise it is thrown.
    public var reportsErrors = false
    /// Takes down what each listed difference was seen in, so that it can be replayed; nil for nothing.
    public var recorder: MismatchRecorder?

    /// The defaults: everything but queries.
    public init() {}
}
