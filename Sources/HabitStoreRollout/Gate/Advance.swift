import Foundation
import HabitStore
import Synchronization

/// Moves an open user towards a later stage, and makes the verifications and rehearsals that the gate asks for.
struct Advance {
    let open: OpenUser
    /// Whether to repeat a failed rehearsal, after an operator has removed its cause.
    var repeatsRehearsal = false

    private var promotion: Promotion { Promotion(open: open) }

    /// Brings the user as close to the wanted stage as the gate allows. On the way it makes missing verifications, and rehearses the way back.
    ///
    /// - Parameter permit: throws if the user must not be moved any more; it is called last before each move.
    /// - Returns: the last decision of the gate; nil if there was nothing to decide. For a user who stays at a later stage than the flags want, the
    ///   decision is closed and says why.
    func run(
        to stage: Stage?,
        waitSeconds: Double?,
        permit: () throws -> Void = {},
        progress: (String, Int, Int) -> Void
    ) throws -> GateDecision? {
        var last: GateDecision?
        open.flags.refresh(for: open.context.subject)
        open.checkpointEvidence(try open.currentRoute().actual)
        // The stage first: reading the route finds out whether the flags have changed.
        while let next = try open.currentRoute().actual.stage.next, let target = stage ?? wantedStage, next <= target {
            catchUp(waitSeconds: waitSeconds ?? open.options.stepLimitSeconds, progress)
            open.leases.load()?.shadow?.drain(seconds: open.options.stepLimitSeconds)
            var decision = try promotion.decision(for: next)
            if !decision.isOpen, try provide(decision.reasons, progress) {
                decision = try promotion.decision(for: next)
            }
            last = decision
            guard decision.isOpen else {
                promotion.recordRefusal(decision, to: next, try open.currentRoute().actual)
                break
            }
            last = try promotion.promote(to: next, permit: permit)
            if last?.isOpen != true { break }
        }
        if last?.isOpen == false { return last }
        let actual = try open.currentRoute().actual
        guard let wanted = open.state.withLock({ $0.wanted }),
            let delay = WayBack(actual, wanted).delay(open.flags.directSwap(for: open.context.subject))
        else { return last }
        return GateDecision(reasons: [delay], cleanShadowReads: last?.cleanShadowReads ?? 0)
    }

    /// Waits for the mirror as long as it makes progress.
    private func catchUp(waitSeconds: Double, _ progress: (String, Int, Int) -> Void) {
        guard let mirror = open.leases.load()?.mirror else { return }
        let deadline = ContinuousClock.now + .seconds(waitSeconds)
        while !mirror.waitUntilIdle(waitSeconds: min(0.1, waitSeconds)), ContinuousClock.now < deadline {
            switch mirror.status {
            case .copying(let done, let total): progress("copying", done, total)
            case .lagging: return
            case .none, .current, .following: continue
            }
        }
    }

    /// Makes the missing verification or rehearsal, unless another reason keeps the gate closed anyway.
    private func provide(_ reasons: [GateReason], _ progress: (String, Int, Int) -> Void) throws -> Bool {
        let kinds = reasons.map { $0 == .rehearsalFailed && repeatsRehearsal ? .rehearse : Remedy($0) }
        guard !kinds.contains(.none) else { return false }
        if kinds.contains(.verify) { _ = try Proof(open: open).verify(progress) }
        if kinds.contains(.rehearse) { _ = try Proof(open: open).rehearse() }
        return true
    }

    /// The remedy for a reason of the gate.
    private enum Remedy {
        case verify
        case rehearse
        case none

        init(_ reason: GateReason) {
            switch reason {
            case .verificationMissing, .verificationStale, .selfComparisonMissing: self = .verify
            // Continuing writes kept it from comparing anything: not a finding, and another try may find a quiet moment.
            case .verificationNotClean("skewed", 0), .coverageIncomplete: self = .verify
            // If it still cannot be read, the next verification reports it again.
            case .verificationNotClean("error", 0), .verificationNotClean("timedOut", 0): self = .verify
            case .rollbackNotRehearsed: self = .rehearse
            default: self = .none
            }
        }
    }

    /// One try in the background. A user who does not advance automatically is still taken back if the flags say so.
    func runByItself() {
        do {
            // No other call may read the route of an idle user, so this one notices changed flags.
            let route = try open.currentRoute()
            bringAlong(route)
            if route.refusal != nil {
                _ = try open.applyKill()
            } else if open.options.advancesByItself, let wanted = wantedStage, wanted > route.actual.stage,
                !route.actual.state.isKilled
            {
                _ = try run(to: nil, waitSeconds: nil) { _, _, _ in }
            }
        } catch {
            open.options.logger.warning(
                "a user could not be moved: \(error)",
                metadata: ["folder": "\(open.directory.path)"]
            )
        }
    }

    /// Migrates the user's former store to the serving store's version, once, on the background thread.
    private func bringAlong(_ route: Route) {
        guard route.actual.stage.mirror == nil, !open.hasSeenLeftStore.exchange(true, ordering: .relaxed) else {
            return
        }
        do {
            try open.migrateFollower(route.actual.other, beside: route.actual)
        } catch {
            open.options.logger.warning(
                "the store that a user has left cannot be migrated now: \(error)",
                metadata: ["folder": "\(open.directory.path)"]
            )
        }
    }

    private var wantedStage: Stage? { open.state.withLock { $0.wanted?.stage } }
}

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
        try requireSound(stage)
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

    /// Makes sure that a user who has been further than `off` before does not start again from a damaged store: a kill does not read the whole store
    /// that it goes back to, and the other one may have everything. Reads all of the serving store if the gate is open.
    private func requireSound(_ stage: Stage?) throws {
        let actual = try open.currentRoute().actual
        guard actual.stage == .off, open.pair.mayExist(actual.other), try decision(for: stage).isOpen,
            let damage = try open.pair.damage(in: actual.engine)
        else { return }
        throw open.unsound(actual, "is damaged (\(damage)), and the user stays")
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
        let mirror = mirrorFacts(actual)
        var facts = try open.gateFacts(actual, isKilled: isKilled)
        (facts.lag, facts.isBackfilled, facts.isMirrorParted) = (mirror.lag, mirror.isBackfilled, mirror.hasParted)
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
        guard let here = try? open.pair.status(actual.engine) else { return nothing }
        open.leases.load()?.mirror?.follow(to: here.token, waitSeconds: open.options.mirror.waitSeconds)
        guard let there = try? open.pair.status(actual.other) else { return nothing }
        let follows = actual.stage.mirror != nil && !actual.stage.awaitsMirror
        return (
            lag: Int(max(0, here.token.rawValue - there.token.rawValue)),
            isBackfilled: there.role != .backfilling && there.lineage == here.lineage,
            hasParted: follows && open.pair.hasParted(there, from: here)
        )
    }
}

extension OpenUser {
    /// The gate's facts about the user at a stage without a mirror.
    func gateFacts(_ actual: ActualStage, isKilled: Bool) throws -> GateInput {
        let evidence = context.evidence
        if evidence.owes(control) { record([]) }
        var isShared = evidence.synchronize(actual, pair)
        var summary = try evidence.log.summary(evidence.trust(actual, pair))
        if !summary.containsAnchor {
            // Another machine may have added lines meanwhile and recorded them in the store.
            isShared = evidence.synchronize(actual, pair)
            summary = try evidence.log.summary(evidence.trust(actual, pair))
        }
        return GateInput(
            evidence: summary,
            lag: 0,
            isBackfilled: true,
            isKilled: actual.state.isKilled || isKilled,
            owesEvidence: evidence.owes(control) || !isShared
        )
    }
}

/// Starts the evidence of an open user from scratch, or archives its old lines.
struct EvidenceRenewal {
    let open: OpenUser

    private var log: EvidenceLog { open.context.evidence.log }

    /// Starts the user's evidence from scratch after loss or damage, which would keep the gate closed forever.
    ///
    /// Nothing is proven any more, so the user is first taken to `off`, as ``demote(to:)`` does. The old file is kept.
    ///
    /// - Parameter isForced: whether to reset intact evidence too.
    func reset(because reason: String, by person: String, isForced: Bool) throws -> EvidenceReset {
        let from = try open.currentRoute().actual.stage
        if !isForced, try isEvidenceWhole() {
            throw HabitStoreError(
                .unsupported,
                "the evidence is intact, and a reset would lose what it proves; add --force to reset it anyway",
                at: .init(path: log.path)
            )
        }
        if from != .off { try open.moveBack(to: .off, reason: .demoted) }
        var file: String?
        try open.move(nil) { look, actual, _ in
            guard actual.stage == .off else {
                throw HabitStoreError(
                    .busy,
                    "the user was moved to \(actual.stage.rawValue) meanwhile; try again",
                    at: .init(path: open.directory.path)
                )
            }
            let begun = try log.reset(
                because: reason,
                by: person,
                behind: max(
                    actual.state.evidence?.sequence ?? 0,
                    try open.context.evidence.lastNumber(actual, open.pair)
                ),
                at: Date()
            )
            file = begun.file
            let head = try open.context.evidence.sharedHead(actual, open.pair) ?? begun.head
            let anchored = try look.change.updateState(actual) {
                $0.evidence = head
                $0.vouched = AcknowledgedRanges().text
            }
            look.change.control.noteLogged(anchored.epoch, in: log)
            return anchored
        }
        open.options.logger.notice(
            "a user's evidence was reset",
            metadata: ["from": "\(from.rawValue)", "by": "\(person)", "folder": "\(open.directory.path)"]
        )
        return EvidenceReset(from: from, file: file)
    }

    /// Whether all lines are there and are this user's; false if the log cannot be read.
    private func isEvidenceWhole() throws -> Bool {
        let actual = try open.currentRoute().actual
        do {
            let summary = try log.summary(anchor: actual.state.evidence)
            return try !summary.isAnothers && log.verify(anchor: actual.state.evidence).isWhole
        } catch let error as HabitStoreError where error.code != .busy {
            open.options.logger.error("evidence cannot be read: \(error)")
            return false
        }
    }

    /// Moves the lines before the last checkpoint of the user's evidence to a separate file.
    ///
    /// - Returns: nil if there are no lines before a checkpoint.
    /// - Throws: as ``EvidenceLog/archive(anchor:at:)`` does.
    func archive() throws -> EvidenceLog.Archived? {
        let actual = try open.currentRoute().actual
        open.checkpointEvidence(actual)
        open.anchorEvidence()
        return try log.archive(open.context.evidence.trust(actual, open.pair), at: Date())
    }
}
