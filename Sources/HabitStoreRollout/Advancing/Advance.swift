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
            let delay = WayBack(actual, wanted).delay(open.flags.directTurn(for: open.context.subject))
        else { return last }
        return GateDecision(reasons: [delay], cleanShadowReads: last?.cleanShadowReads ?? 0)
    }

    /// Waits for the mirror as long as it makes progress.
    private func catchUp(waitSeconds: Double, _ progress: (String, Int, Int) -> Void) {
        guard let mirror = open.leases.load()?.mirror else { return }
        let deadline = ContinuousClock.now + .seconds(waitSeconds)
        while !mirror.settle(waitSeconds: min(0.1, waitSeconds)), ContinuousClock.now < deadline {
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
                _ = try open.land()
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
