import Foundation
import HabitStore

/// Asks the gate about an open user, and moves the user forward if the gate is open.
struct Promotion {
    let open: OpenUser

    /// Moves the user one stage forward, if the gate is open.
    ///
    /// - Parameters:
    ///   - stage: the stage to move to; nil for the next one.
    ///   - permit: throws if the user must not be moved any more.
    func promote(to stage: Stage?, permit: () throws -> Void = {}) throws -> GateDecision {
        let metrics = open.context.metrics
        var isPermitted = true
        do {
            let (decision, isMoved) = try promote(
                to: stage,
                asking: {
                    do {
                        try permit()
                    } catch {
                        isPermitted = false
                        throw error
                    }
                }
            )
            if isMoved { metrics.promotionEnded(.promoted) }
            return decision
        } catch {
            if isPermitted { metrics.promotionEnded(.failed) }
            throw error
        }
    }

    private func promote(to stage: Stage?, asking permit: () throws -> Void) throws -> (GateDecision, isMoved: Bool) {
        var decision = GateDecision(reasons: [.alreadyThere], cleanShadowReads: 0)
        var isMoved = false
        try open.move(.promoted) { look, actual, state in
            // The user may have been moved past it meanwhile, and a promotion never moves a user back.
            guard let target = stage ?? actual.stage.next, target > actual.stage else { return nil }
            decision = try decide(actual, target, state.wanted?.stage, isKilled: look.pulled != nil)
            guard decision.isOpen else {
                recordRefusal(decision, to: target, actual)
                return nil
            }
            try permit()
            guard open.record([.admitted(to: target, epoch: actual.epoch)]) else {
                decision = GateDecision(reasons: [.evidenceUnwritable], cleanShadowReads: decision.cleanShadowReads)
                open.context.metrics.refused(decision.reasons)
                return nil
            }
            let moved = try look.change.move(
                actual,
                to: target,
                evidence: open.context.evidence.remembered(actual, open.pair),
                placedBy: state.wanted?.placement
            )
            isMoved = true
            return moved
        }
        return (decision, isMoved)
    }

    /// The gate's decision on a promotion now. Changes and records nothing.
    func decision(for stage: Stage?) throws -> GateDecision {
        let actual = try open.currentRoute().actual
        guard let target = stage ?? actual.stage.next else {
            return GateDecision(reasons: [.alreadyThere], cleanShadowReads: 0)
        }
        let wanted = open.state.withLock { $0.wanted?.stage }
        return try decide(actual, target, wanted, isKilled: open.context.pulledKill != nil)
    }

    private func decide(
        _ actual: ActualStage,
        _ target: Stage,
        _ wanted: Stage?,
        isKilled: Bool
    ) throws -> GateDecision {
        open.leases.load()?.shadow?.flush()
        let evidence = open.context.evidence
        if evidence.owes(open.control) { open.record([]) }
        var isShared = evidence.synchronize(actual, open.pair)
        var summary = try evidence.log.summary(evidence.trust(actual, open.pair))
        if !summary.containsAnchor {
            // Another machine may have added lines meanwhile and recorded them in the store.
            isShared = evidence.synchronize(actual, open.pair)
            summary = try evidence.log.summary(evidence.trust(actual, open.pair))
        }
        let mirror = mirrorFacts(actual)
        let facts = GateFacts(
            evidence: summary,
            lag: mirror.lag,
            isBackfilled: mirror.isBackfilled,
            isKilled: actual.state.isKilled || isKilled,
            isMirrorParted: mirror.hasParted,
            owesEvidence: evidence.owes(open.control) || !isShared
        )
        return Gate(policy: open.options.gate).decide(from: actual.stage, to: target, facts: facts, now: Date())
            .proposed(wanted, from: actual.stage, to: target)
    }

    func recordRefusal(_ decision: GateDecision, to stage: Stage, _ actual: ActualStage) {
        open.context.evidence.recordRefusal(decision, to: stage, in: open.scene, anchor: actual.state.evidence)
    }

    /// The facts about the other store: how many transactions it lags (all of them if it cannot be read), whether it was filled, and whether it has
    /// diverged. The mirror finishes a file that a killed process left unfinished. A write that another process is just carrying over is not lag, so
    /// this waits for it.
    private func mirrorFacts(_ actual: ActualStage) -> (lag: Int, isBackfilled: Bool, hasParted: Bool) {
        let nothing = (lag: Int(actual.token.rawValue), isBackfilled: false, hasParted: false)
        guard let here = try? open.pair.standing(actual.engine) else { return nothing }
        open.leases.load()?.mirror?.follow(to: here.token, waitSeconds: open.options.mirror.waitSeconds)
        guard let there = try? open.pair.standing(actual.other) else { return nothing }
        let follows = actual.stage.mirror != nil && !actual.stage.awaitsMirror
        return (
            lag: Int(max(0, here.token.rawValue - there.token.rawValue)),
            isBackfilled: there.role != .backfilling && there.lineage == here.lineage,
            hasParted: follows && open.pair.hasParted(there, from: here)
        )
    }
}
