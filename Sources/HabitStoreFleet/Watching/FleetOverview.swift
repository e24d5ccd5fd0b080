import Foundation
import HabitStoreRollout

/// A fleet's status, in the order in which people ask: how it is going, where users are, why they wait, what differs, how long writes take, and what
/// was done. It comes from the fleet's index and files; no store is opened.
public struct FleetOverview: Sendable {
    /// A wave.
    public struct Wave: Sendable, Hashable {
        /// The wave's name.
        public let name: String
        /// `done`, `soaking`, `running`, or `waiting` for earlier waves.
        public let state: String
        /// How many users are in it.
        public let users: Int
        /// How many of them have reached the plan's stage.
        public let arrived: Int
        /// When its soak ends; nil before the soak begins and after it has ended.
        public let soaksUntil: Date?
        /// Its users' clean shadow reads.
        public let cleanReads: Progress
        /// Its users' writes since they reached the plan's stage.
        public let writes: Progress
        /// How many of its users could not advance at the last attempt.
        public let refused: Int
    }

    /// A number and how many the plan asks for.
    public struct Progress: Sendable, Hashable {
        /// The current number.
        public let have: Int
        /// The required number; 0 if none is required.
        public let need: Int
    }

    /// Who or what has stopped the fleet.
    public struct Stop: Sendable, Hashable {
        /// Whether the fleet is halted; otherwise it is paused.
        public let isHalt: Bool
        /// The person, or `the run`.
        public let by: String
        /// The reason.
        public let because: String
        /// The user who caused it, as ``FleetWatch`` names users; nil if none did.
        public let user: String?
        /// The kind of halt, for which the runbook says what to do; nil for a pause.
        public let kind: Runbook.Halt?
    }

    /// A gate reason or error code, and how many users wait for it.
    public struct Reason: Sendable, Hashable {
        /// The kind of reason, which has an entry in the runbook.
        public let kind: String
        /// How many users wait for it, perhaps among other reasons.
        public let users: Int
    }

    /// A difference between a user's stores.
    public struct Difference: Sendable, Hashable {
        /// The user, as ``FleetWatch`` names users.
        public let user: String
        /// The user's current stage.
        public let stage: Stage?
        /// The difference, without the user's values.
        public let message: String
    }

    /// How far new stores lag.
    public struct Lag: Sendable, Hashable {
        /// When this was read.
        public let time: Date
        /// How many users' mirrors lack transactions.
        public let users: Int
        /// How many transactions they lack in total.
        public let transactions: Int
        /// The most transactions that one of them lacks.
        public let most: Int
    }

    /// A user with a long wait or large stores.
    public struct User: Sendable, Hashable {
        /// The user, as ``FleetWatch`` names users.
        public let user: String
        /// The wave's number, from 0.
        public let wave: Int
        /// The user's stage; nil if the user was not examined yet.
        public let stage: Stage?
        /// The size of the user's stores when the waves were drawn.
        public let bytes: Int
        /// Since when the user has been at the stage, as far as runs have seen.
        public let since: Date?
        /// Why the user waits, as kinds of the gate's reasons.
        public let reasons: [String]
    }

    /// A kill of all users that was applied.
    public struct Landing: Sendable, Hashable {
        /// When the kill was applied to all users.
        public let time: Date
        /// The seconds since the kill switch was pulled.
        public let seconds: Double
        /// How many users are on the old store.
        public let users: Int
        /// How many could not be taken back.
        public let failed: Int
    }

    /// A rehearsal of the rollback.
    public struct Rehearsal: Sendable, Hashable {
        /// When it ran.
        public let time: Date
        /// Whether it succeeded.
        public let isClean: Bool
    }

    /// The state in a word: see ``FleetStatus/state``.
    public let state: String
    /// The current activity or wait, without who stopped the fleet.
    public let doing: String
    /// Who or what stopped it; nil if it is not stopped.
    public let stop: Stop?
    /// The plan's stage.
    public let stage: Stage
    /// How many users there are.
    public let users: Int
    /// How many users are at each stage; nil for users who were not examined yet.
    public let stages: [(stage: Stage?, users: Int)]
    /// The waves.
    public let waves: [Wave]
    /// An estimate of the remaining time, in seconds, from the pace of the last hour; nil if there is too little data.
    public let secondsLeft: ClosedRange<Double>?
    /// Why users wait, the most frequent first.
    public let reasons: [Reason]
    /// How many users' stores differ.
    public let different: Int
    /// The current differences, at most ``FleetWatch/listedDifferences``.
    public let differences: [Difference]
    /// How long writes took in the last day, by period and stage.
    public let writes: [FleetWrites]
    /// How far new stores lag now.
    public let lag: Lag
    /// The lags since the watch began, in order.
    public let lags: [Lag]
    /// The users who have waited longest.
    public let slowest: [User]
    /// The users with the largest stores.
    public let largest: [User]
    /// The last rollback rehearsal of the user who was moved to the new store last; nil if that is unknown.
    public let lastRehearsal: Rehearsal?
    /// The last kill of all users by `rollout kill`; nil if the ledger records none.
    public let lastKill: Landing?
    /// The delivery status of the plan's hooks.
    public let hooks: [HookStatus]
    /// Why the status of the hooks is unknown; nil if it is known.
    public let hooksProblem: String?
    /// The ledger's last lines, the latest first, with users as ``FleetWatch`` names them.
    public let audit: [FleetLedger.Entry]
    /// How many lines the ledger has.
    public let auditLines: Int
    /// The first line of the ledger that was changed; nil if none was.
    public let damagedLine: Int?

    /// How many users the new store serves.
    public var served: Int {
        stages.reduce(0) { $0 + (($1.stage?.authority ?? .old) == .new ? $1.users : 0) }
    }

    /// The clean shadow reads of all users.
    public var cleanReads: Int { waves.reduce(0) { $0.addingSaturated($1.cleanReads.have) } }

    /// The current wave, with its number from 0: the first one that is not done, or the last one; nil if there is none.
    public var current: (number: Int, wave: Wave)? {
        guard let number = waves.firstIndex(where: { $0.state != "done" }) ?? waves.indices.last else { return nil }
        return (number, waves[number])
    }
}
