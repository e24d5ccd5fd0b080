/// A reason that keeps the gate closed.
public enum GateReason: Sendable, Hashable {
    /// There are stages between the two.
    case stageSkipped(from: Stage, to: Stage)
    /// The user is already in this stage.
    case alreadyThere
    /// The flags want at most this stage, or none.
    case notProposed(wanted: Stage?)
    /// The flags want this earlier stage, but the user is not taken there. Concerns the flags, not the evidence, and is never logged there.
    case notTakenBack(wanted: Stage, because: Hold)
    /// The user is in this stage; the former store is removed only at `complete`.
    case notComplete(stage: Stage)
    /// The user reached `complete` too recently, or at an unknown time; this much of the retention is left.
    case retentionNotOver(seconds: Double)
    /// The kill switch is pulled.
    case killed
    /// The mirror was never filled.
    case notBackfilled
    /// The mirror has diverged from the serving store.
    case mirrorParted
    /// The mirror lags by this many transactions.
    case lagging(transactions: Int)
    /// No verification was made in this stage.
    case verificationMissing
    /// The verification is this old; negative if it is dated in the future.
    case verificationStale(seconds: Double)
    /// The last verification did not match.
    case verificationNotClean(verdict: String, differences: Int)
    /// The verification compared only this share of the records, 0…1.
    case coverageIncomplete(coverage: Double)
    /// The mirror was repaired after the verification.
    case repairedSince
    /// There is no recent comparison of a store with itself.
    case selfComparisonMissing(side: StoreSide)
    /// The last comparison of a store with itself found a difference: the comparison is at fault, or the store's copies are.
    case selfComparisonFailed(side: StoreSide)
    /// Not enough clean shadow reads in this stage since the last difference, repair or change of stage.
    case tooFewShadowReads(have: Int, need: Int)
    /// Differences in this stage without a later verification.
    case shadowDifferences(count: Int)
    /// The way back was not rehearsed recently.
    case rollbackNotRehearsed
    /// The last rehearsal of the way back failed.
    case rehearsalFailed
    /// There were enough clean shadow reads, but too many are too old, or dated in the future.
    case evidenceExpired
    /// The evidence is damaged or was changed.
    case evidenceDamaged(line: Int, why: String)
    /// The evidence cannot be written, so nothing can be proven: neither a promotion's own line nor earlier findings.
    case evidenceUnwritable
    /// The verification ignored differences by this many rules.
    case ignoredRules(count: Int)
    /// The evidence ends before the stores' anchor, or is another log.
    case anchorMissing
    /// The stores have no anchor although the evidence shows an admission by the gate: it is another user's, or the stores are older.
    case anotherUsersEvidence

    /// What keeps a user at a later stage than the flags want.
    public enum Hold: String, Sendable, Hashable, Codable, CaseIterable {
        /// A percentage placed the user and now wants an earlier stage, but changed weights or buckets move no user back.
        case percentage
        /// A percentage wants an earlier stage, and an earlier version did not record what placed the user.
        case unknownPlacement
        /// The stage alone moves no user back from `complete`, where the old store does not follow.
        case complete
        /// Flag files disagree: another one put the user there since this one did.
        case disagreement
        /// Nothing in the flags: the next operation takes the user back.
        case pending
    }
}
