import Foundation
import ShadowVerifier

/// Decides whether a user may move to another stage, and lists everything that is missing.
///
/// Moving back is always allowed. Moving forward goes one stage at a time, with the kill switch armed and the evidence intact, and needs:
///
/// | to | mirror | verification | clean shadow reads | other |
/// |---|---|---|---|---|
/// | `dualwrite` | | | | |
/// | `shadow` | filled, no lag | | | |
/// | `live` | filled, no lag | clean | enough | a rehearsal of the way back; each store clean in a comparison with itself |
/// | `rampdown` | no lag | clean | enough | |
/// | `complete` | no lag | clean | | no rule that ignores something |
///
/// A verification is clean if it matched, or found only what named rules ignore, if it covers everything, is fresh, was made in the present stage,
/// and neither a repair nor a difference came after it. Shadow reads count if they were made since the user entered the stage; a difference or a
/// repair restarts the count. Evidence dated more than ``clockToleranceSeconds`` ahead does not count.
public struct Gate: Sendable, Hashable {
    /// How much evidence the gate needs.
    public let policy: GatePolicy
    /// Before this stage each store must have been found equal to itself: from there on the new one serves.
    static let selfComparedStage = Stage.live

    /// How far ahead evidence may be dated. Clocks of well-kept machines differ by less, and so does a clock that is being corrected. Without the
    /// limit, evidence from a clock that was years ahead would stay fresh for years.
    public static let clockToleranceSeconds = 300.0

    /// Makes a gate.
    public init(policy: GatePolicy = GatePolicy()) { self.policy = policy }

    /// Decides whether a user may move from one stage to another.
    ///
    /// - Parameters:
    ///   - from: the user's present stage.
    ///   - facts: what is known about the user.
    ///   - now: when the stage would change.
    public func decide(from: Stage, to: Stage, facts: GateInput, now: Date) -> GateDecision {
        let evidence = facts.evidence.evidence.at(from)
        let cleanReads = evidence.cleanReads.count { isFresh($0, now, policy.evidenceLifetimeSeconds) }
        var reasons: [GateReason] = []
        if from == to {
            reasons = [.alreadyThere]
        } else if let next = from.next, next <= to {
            if next < to { reasons.append(.stageSkipped(from: from, to: to)) }
            reasons += general(facts)
            reasons += mirror(next, facts)
            if next >= .live { reasons += verification(evidence, now) }
            if next == .live || next == .rampdown { reasons += shadowReads(evidence, cleanReads) }
            if next == Self.selfComparedStage { reasons += selfComparisons(evidence, now) }
            if next == .live { reasons += rehearsal(evidence, now) }
            if next == .complete, let count = evidence.verification?.ignoredRules, count > 0 {
                reasons.append(.ignoredRules(count: count))
            }
        }
        return GateDecision(reasons: reasons, cleanShadowReads: cleanReads)
    }

    /// Decides whether the store that a user has left may be removed: at `complete`, if the flags still want that, after the retention time, and with
    /// a clean verification without rules that ignored something.
    ///
    /// - Parameters:
    ///   - wanted: the stage that the flags want; nil if they want none.
    ///   - isVerified: whether the verification should have been made by now.
    func decideRetirement(
        from stage: Stage,
        wanted: Stage?,
        facts: GateInput,
        isVerified: Bool,
        now: Date
    ) -> GateDecision {
        guard stage == .complete else {
            // A kill takes the user back before anything is decided, and keeps the user there until it is re-armed.
            return GateDecision(reasons: [facts.isKilled ? .killed : .notComplete(stage: stage)], cleanShadowReads: 0)
        }
        let evidence = facts.evidence.evidence.at(stage)
        var reasons = general(facts)
        if wanted != .complete { reasons.append(.notProposed(wanted: wanted)) }
        let age = evidence.since.map { now.timeIntervalSince($0.date) } ?? 0
        if age < policy.retentionSeconds { reasons.append(.retentionNotOver(seconds: policy.retentionSeconds - age)) }
        if isVerified {
            reasons += verification(evidence, now)
            if let count = evidence.verification?.ignoredRules, count > 0 {
                reasons.append(.ignoredRules(count: count))
            }
        } else if evidence.differences > 0 {
            reasons.append(.shadowDifferences(count: evidence.differences))
        }
        return GateDecision(reasons: reasons, cleanShadowReads: 0)
    }

    private func general(_ facts: GateInput) -> [GateReason] {
        var reasons: [GateReason] = facts.isKilled ? [.killed] : []
        if let damage = facts.evidence.damage {
            reasons.append(.evidenceDamaged(line: damage.line, why: damage.reason))
        }
        if facts.owesEvidence { reasons.append(.evidenceUnwritable) }
        if !facts.evidence.containsAnchor { reasons.append(.anchorMissing) }
        if facts.evidence.isAnothers { reasons.append(.anotherUsersEvidence) }
        return reasons
    }

    private func mirror(_ next: Stage, _ facts: GateInput) -> [GateReason] {
        guard next >= .shadow else { return [] }
        // Until it is rebuilt, it can neither be filled nor catch up.
        if facts.isMirrorParted { return [.mirrorParted] }
        var reasons: [GateReason] = []
        if next <= .live, !facts.isBackfilled { reasons.append(.notBackfilled) }
        if facts.lag > policy.maximumLag { reasons.append(.lagging(transactions: facts.lag)) }
        return reasons
    }

    private func verification(_ evidence: StageEvidence, _ now: Date) -> [GateReason] {
        var reasons: [GateReason] = []
        if let found = evidence.verification {
            if !found.isClean {
                reasons.append(.verificationNotClean(verdict: found.verdict, differences: found.differences))
            }
            if found.coverage != 1 { reasons.append(.coverageIncomplete(coverage: found.coverage)) }
            if !isFresh(found.time.date, now, policy.verificationLifetimeSeconds) {
                reasons.append(.verificationStale(seconds: now.timeIntervalSince(found.time.date)))
            }
            if evidence.isRepaired { reasons.append(.repairedSince) }
        } else {
            reasons.append(.verificationMissing)
        }
        if evidence.differences > 0 { reasons.append(.shadowDifferences(count: evidence.differences)) }
        return reasons
    }

    private func shadowReads(_ evidence: StageEvidence, _ fresh: Int) -> [GateReason] {
        guard fresh < policy.cleanShadowReads else { return [] }
        return evidence.cleanReads.all < policy.cleanShadowReads
            ? [.tooFewShadowReads(have: fresh, need: policy.cleanShadowReads)] : [.evidenceExpired]
    }

    private func selfComparisons(_ evidence: StageEvidence, _ now: Date) -> [GateReason] {
        guard policy.requiresSelfComparison else { return [] }
        return StoreSide.allCases.compactMap { side in
            guard let found = evidence.selfComparisons[side] else { return .selfComparisonMissing(side: side) }
            if !found.isClean { return .selfComparisonFailed(side: side) }
            guard isFresh(found.time.date, now, policy.evidenceLifetimeSeconds) else {
                return .selfComparisonMissing(side: side)
            }
            return nil
        }
    }

    private func rehearsal(_ evidence: StageEvidence, _ now: Date) -> [GateReason] {
        guard let rehearsal = evidence.rehearsal else { return [.rollbackNotRehearsed] }
        if !rehearsal.isClean { return [.rehearsalFailed] }
        return isFresh(rehearsal.time.date, now, policy.rehearsalLifetimeSeconds) ? [] : [.rollbackNotRehearsed]
    }

    private func isFresh(_ time: Date, _ now: Date, _ lifetimeSeconds: Double) -> Bool {
        let age = now.timeIntervalSince(time)
        return age >= -Self.clockToleranceSeconds && age <= lifetimeSeconds
    }
}

/// The gate's facts about a user.
public struct GateInput: Sendable, Hashable {
    /// The summary of the evidence, and whether it contains the stores' anchor. Before the stores get another anchor, the evidence must be found to
    /// contain the old one; otherwise a cut-off would be forgotten.
    public var evidence: EvidenceSummary
    /// How many transactions the mirror lags.
    public var lag: Int
    /// Whether the mirror was filled.
    public var isBackfilled: Bool
    /// Whether the mirror has diverged from the serving store, so that it cannot follow.
    public var isMirrorParted: Bool
    /// Whether the kill switch is pulled for this user.
    public var isKilled: Bool
    /// Whether something was seen that could not be written to the evidence yet.
    public var owesEvidence: Bool

    /// Collects the facts.
    public init(
        evidence: EvidenceSummary,
        lag: Int,
        isBackfilled: Bool,
        isKilled: Bool,
        isMirrorParted: Bool = false,
        owesEvidence: Bool = false
    ) {
        self.evidence = evidence
        self.lag = lag
        self.isBackfilled = isBackfilled
        self.isKilled = isKilled
        self.isMirrorParted = isMirrorParted
        self.owesEvidence = owesEvidence
    }
}
