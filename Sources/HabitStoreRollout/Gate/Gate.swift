import Foundation
import ShadowVerifier

/// Decides whether a user may come into another stage, and says everything that is missing.
///
/// Back is always open. Forward goes one stage at a time, with the kill switch armed and the evidence whole, and needs:
///
/// | to | mirror | verification | clean shadow reads | besides |
/// |---|---|---|---|---|
/// | `dualwrite` | | | | |
/// | `shadow` | filled, no lag | | | |
/// | `live` | filled, no lag | clean | enough | a rehearsal of the way back; each store clean of a comparison with itself |
/// | `rampdown` | no lag | clean | enough | |
/// | `complete` | no lag | clean | | no rule that ignores something |
///
/// A verification is clean when it matched, or found only what named rules ignore, covers everything, is fresh, was made in
/// the present stage, and neither a repair nor a difference came after it. Shadow reads count when they were made since the
/// user came into the stage; a difference or a repair begins the count anew. What is dated further ahead than
/// ``clockToleranceSeconds`` does not count.
public struct Gate: Sendable, Hashable {
    /// How much evidence is asked for.
    public let policy: GatePolicy
    /// The stage before which each store has to come out clean of a comparison with itself: from there on the new one serves.
    static let selfComparedStage = Stage.live

    /// How far ahead evidence may be dated: the clocks of machines that are kept right differ by less, and so does a clock
    /// that is put right. What a clock wrote that was years ahead would otherwise be fresh for years.
    public static let clockToleranceSeconds = 300.0

    /// A gate with a policy.
    public init(policy: GatePolicy = GatePolicy()) { self.policy = policy }

    /// Whether a user may go from a stage to another one.
    ///
    /// - Parameters:
    ///   - from: the user's present stage.
    ///   - facts: what is known of the user.
    ///   - now: when the stage would change.
    public func decide(from: Stage, to: Stage, facts: GateFacts, now: Date) -> GateDecision {
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

    /// Whether the store that a user has left may be removed: at `complete`, when the flags want that still, behind the retention
    /// time, and with a clean verification that no rule has helped.
    ///
    /// - Parameters:
    ///   - wanted: the stage that the flags want; nil when they say nothing.
    ///   - isVerified: whether the verification was to be made by now.
    func decideRetirement(
        from stage: Stage,
        wanted: Stage?,
        facts: GateFacts,
        isVerified: Bool,
        now: Date
    ) -> GateDecision {
        guard stage == .complete else {
            return GateDecision(reasons: [.notComplete(stage: stage)], cleanShadowReads: 0)
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

    private func general(_ facts: GateFacts) -> [GateReason] {
        var reasons: [GateReason] = facts.isKilled ? [.killed] : []
        if let damage = facts.evidence.damage {
            reasons.append(.evidenceDamaged(line: damage.line, why: damage.reason))
        }
        if facts.owesEvidence { reasons.append(.evidenceUnwritable) }
        if !facts.evidence.containsAnchor { reasons.append(.anchorMissing) }
        if facts.evidence.isAnothers { reasons.append(.anotherUsersEvidence) }
        return reasons
    }

    private func mirror(_ next: Stage, _ facts: GateFacts) -> [GateReason] {
        guard next >= .shadow else { return [] }
        // It neither is filled nor catches up before it is made anew.
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
