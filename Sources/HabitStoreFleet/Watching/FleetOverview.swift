import Foundation
import HabitStoreRollout

/// Where a fleet is, in the order in which people ask: how it goes, where users are, why they wait, what differs, how long writes take,
/// and what was done. All of it comes from the fleet's index and files; no store is opened.
public struct FleetOverview: Sendable {
    /// A wave.
    public struct Wave: Sendable, Hashable {
        /// What people call it.
        public let name: String
        /// `done`, `soaking`, `running`, or `waiting` for the waves before.
        public let state: String
        /// How many users are in it.
        public let users: Int
        /// How many of them have come to the plan's stage.
        public let arrived: Int
        /// When it has been watched for long enough; nil before that begins, and when it is over.
        public let soaksUntil: Date?
        /// The clean shadow reads that its users have come to.
        public let cleanReads: Progress
        /// The writes that its users have made since they came to the plan's stage.
        public let writes: Progress
        /// How many of its users could not go on when they were tried last.
        public let refused: Int
    }

    /// How much there is of what the plan asks for.
    public struct Progress: Sendable, Hashable {
        /// So much there is.
        public let have: Int
        /// So much is asked for; 0 where nothing is.
        public let need: Int
    }

    /// Who or what has stopped the fleet.
    public struct Stop: Sendable, Hashable {
        /// Whether nobody is moved any more; else nobody is begun with.
        public let isHalt: Bool
        /// Who, or `the run`.
        public let by: String
        /// Why.
        public let because: String
        /// The user for whom, as ``FleetWatch`` names users; nil where it was not for one.
        public let user: String?
        /// What kind of halt it is, of which the runbook says what helps; nil for a pause.
        public let kind: Runbook.Halt?
    }

    /// A reason of the gate, or an error's code, and how many users wait by it.
    public struct Reason: Sendable, Hashable {
        /// The reason's kind, which the runbook has an entry for.
        public let kind: String
        /// How many users wait by it, perhaps beside others.
        public let users: Int
    }

    /// What was found to be different between a user's stores.
    public struct Difference: Sendable, Hashable {
        /// Whose, as ``FleetWatch`` names users.
        public let user: String
        /// Where the user is now.
        public let stage: Stage?
        /// What differs, without the user's values.
        public let message: String
    }

    /// How far new stores are behind.
    public struct Lag: Sendable, Hashable {
        /// When that was seen.
        public let time: Date
        /// How many users' mirrors lack transactions.
        public let users: Int
        /// How many transactions they lack together.
        public let transactions: Int
        /// How many the one lacks that is furthest behind.
        public let most: Int
    }

    /// A user who stands out.
    public struct User: Sendable, Hashable {
        /// Whose, as ``FleetWatch`` names users.
        public let user: String
        /// The wave's number, from 0.
        public let wave: Int
        /// Where the user is; nil where nobody has looked.
        public let stage: Stage?
        /// How large the user's stores were when the waves were drawn.
        public let bytes: Int
        /// Since when the user is at the stage, as far as it was seen.
        public let since: Date?
        /// Why the user waits: kinds of the gate's reasons.
        public let reasons: [String]
    }

    /// A kill of everybody that has landed.
    public struct Landing: Sendable, Hashable {
        /// When it had landed.
        public let time: Date
        /// How long it took from the pull, in seconds.
        public let seconds: Double
        /// How many users are on the old store.
        public let users: Int
        /// How many could not be taken back.
        public let failed: Int
    }

    /// A rehearsal of the way back.
    public struct Rehearsal: Sendable, Hashable {
        /// When.
        public let time: Date
        /// Whether it went well.
        public let isClean: Bool
    }

    /// What the fleet is doing, in a word: see ``FleetStatus/state``.
    public let state: String
    /// What it is doing and what it waits for, without who has stopped it.
    public let doing: String
    /// Who or what has stopped it; nil where nothing has.
    public let stop: Stop?
    /// The stage that the plan brings users to.
    public let stage: Stage
    /// How many users there are.
    public let users: Int
    /// How many users are at each stage; nil for those whom nobody has looked at.
    public let stages: [(stage: Stage?, users: Int)]
    /// The waves.
    public let waves: [Wave]
    /// How long what is left may take, in seconds, by the pace of the last hour; nil where that says nothing.
    public let secondsLeft: ClosedRange<Double>?
    /// Why users wait, the most frequent first.
    public let reasons: [Reason]
    /// How many users' stores differ.
    public let different: Int
    /// The differences that there are, ``FleetWatch/listedDifferences`` at most.
    public let differences: [Difference]
    /// How long writes took in the last day, a stretch of time and a stage each.
    public let writes: [FleetWrites]
    /// How far new stores are behind now.
    public let lag: Lag
    /// How far they were since this has been watched, in the order of time.
    public let lags: [Lag]
    /// Who has waited longest.
    public let slowest: [User]
    /// Whose stores are largest.
    public let largest: [User]
    /// The last rehearsal of the way back, of the user who came to the new store last; nil where that cannot be told.
    public let lastRehearsal: Rehearsal?
    /// The last kill of everybody by `rollout kill`; nil where the ledger tells of none.
    public let lastKill: Landing?
    /// How far the plan's hooks were told.
    public let hooks: [HookStatus]
    /// What keeps that from being read; nil where nothing does.
    public let hooksProblem: String?
    /// What was done last, the latest first; users are named as ``FleetWatch`` names them.
    public let audit: [FleetLedger.Entry]
    /// How many lines the ledger has.
    public let auditLines: Int
    /// The first line of the ledger that is not as it was written; nil where all are.
    public let damagedLine: Int?

    /// How many users the new store serves.
    public var served: Int {
        stages.reduce(0) { $0 + (($1.stage?.authority ?? .old) == .new ? $1.users : 0) }
    }

    /// How many clean shadow reads all users have come to.
    public var cleanReads: Int { waves.reduce(0) { $0.addingSaturated($1.cleanReads.have) } }

    /// The wave that is on the way: the first one that is not done, or the last one. Its number is from 0; nil where there is none.
    public var current: (number: Int, wave: Wave)? {
        guard let number = waves.firstIndex(where: { $0.state != "done" }) ?? waves.indices.last else { return nil }
        return (number, waves[number])
    }
}
