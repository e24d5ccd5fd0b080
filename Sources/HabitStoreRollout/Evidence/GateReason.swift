/// Something that keeps the gate closed.
public enum GateReason: Sendable, Hashable {
    /// Stages lie between the two.
    case stageSkipped(from: Stage, to: Stage)
    /// The user is in this stage.
    case alreadyThere
    /// The flags want this stage at most, or say nothing.
    case notProposed(wanted: Stage?)
    /// The flags want this earlier stage, and the user is not taken there. This concerns the flags, not the evidence, and is never logged there.
    case notTakenBack(wanted: Stage, because: Hold)
    /// The user is in this stage, and the store that was left is removed at `complete` only.
    case notComplete(stage: Stage)
    /// The user came to `complete` too short a time ago, or nobody knows when; so much of the time is left.
    case retentionNotOver(seconds: Double)
    /// The kill switch is pulled.
    case killed
    /// The mirror was never filled.
    case notBackfilled
    /// The mirror has gone another way than the store that serves.
    case mirrorParted
    /// The mirror is this many transactions behind.
    case lagging(transactions: Int)
    /// No verification was made in this stage.
    case verificationMissing
    /// The verification is this old; negative for one that is dated in the future.
    case verificationStale(seconds: Double)
    /// The last verification did not match.
    case verificationNotClean(verdict: String, differences: Int)
    /// The verification compared only this part of the records, 0…1.
    case coverageIncomplete(coverage: Double)
    /// The mirror was repaired after the verification.
    case repairedSince
    /// No fresh comparison of a store with itself.
    case selfComparisonMissing(side: StoreSide)
    /// The last comparison of a store with itself found a difference: the comparer is at fault, or the store's copies are.
    case selfComparisonFailed(side: StoreSide)
    /// Not enough clean shadow reads in this stage since the last difference, repair or change of stage.
    case tooFewShadowReads(have: Int, need: Int)
    /// Differences in this stage that no verification has followed.
    case shadowDifferences(count: Int)
    /// The way back was not rehearsed, or too long ago.
    case rollbackNotRehearsed
    /// The last rehearsal of the way back failed.
    case rehearsalFailed
    /// There were enough clean shadow reads, and too many of them are too old, or dated in the future.
    case evidenceExpired
    /// The evidence is not as it was written.
    case evidenceDamaged(line: Int, why: String)
    /// The evidence cannot be written, so that nothing can be proven: a promotion's own line, or what was seen before.
    case evidenceUnwritable
    /// The verification ignored something by this many rules.
    case ignoredRules(count: Int)
    /// The evidence ends before, or is another one than, what the stores remember of it.
    case anchorMissing
    /// The stores remember no evidence, and there is some of a user whom the gate let in: it is another user's, or the stores
    /// are older.
    case anotherUsersEvidence

    /// What keeps a user further along than the flags want.
    public enum Hold: String, Sendable, Hashable, Codable, CaseIterable {
        /// A percentage placed the user and wants the user back: changed weights or buckets move no user back.
        case percentage
        /// A percentage wants the user back, and an earlier version did not write down what had placed the user.
        case unknownPlacement
        /// The stage alone moves no user back from `complete`, where the old store does not follow.
        case complete
        /// Flag files disagree: others have put the user there since this one did.
        case disagreement
        /// Nothing that the flags say: the next operation takes the user back.
        case pending
    }
}
