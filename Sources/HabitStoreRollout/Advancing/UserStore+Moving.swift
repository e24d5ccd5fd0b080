import Foundation
import HabitStore

extension UserStore {
    /// Moves the user one stage forward, if the gate is open.
    ///
    /// - Parameter stage: the stage to go to; nil for the one that is next.
    /// - Returns: what the gate decided, with all its reasons; open where the user was moved.
    /// - Throws: why the move failed; the user stays then.
    @discardableResult
    public func promote(to stage: Stage? = nil) throws -> GateDecision {
        try begin()
        defer { route.end() }
        return try routing.withLock { routing in
            try withSwitch(&routing) { routing, change in
                let revision = flags.revision
                let actual = try reroute(&routing, change, revision).actual
                guard let target = stage ?? actual.stage.next else {
                    return GateDecision(reasons: [.alreadyThere], cleanShadowReads: 0)
                }
                // The user may have been moved past it meanwhile, and a promotion takes nobody back.
                guard target > actual.stage else {
                    return GateDecision(reasons: [.alreadyThere], cleanShadowReads: 0)
                }
                let decision = try decide(actual, target, routing.wanted?.stage)
                guard decision.isOpen else {
                    metrics.refused()
                    recordRefusal(decision, to: target, anchor: actual.state.evidence)
                    return decision
                }
                guard record([.admitted(to: target, epoch: actual.epoch)]) else {
                    return GateDecision(reasons: [.evidenceUnwritable], cleanShadowReads: decision.cleanShadowReads)
                }
                let moved = try change.move(actual, to: target, evidence: remembered(actual))
                note(actual, moved, .promoted, &routing)
                _ = try install(moved, change, nil, revision, &routing)
                return decision
            }
        }
    }

    /// What the gate would say to a promotion now. Nothing is changed or recorded.
    ///
    /// - Parameter stage: the stage to go to; nil for the one that is next.
    public func decision(for stage: Stage? = nil) throws -> GateDecision {
        try begin()
        defer { route.end() }
        let actual = try currentRoute().actual
        guard let target = stage ?? actual.stage.next else {
            return GateDecision(reasons: [.alreadyThere], cleanShadowReads: 0)
        }
        return try decide(actual, target, wantedStage)
    }

    /// Takes the user to an earlier stage.
    ///
    /// - Parameter stage: the stage to go to; nil for the one before.
    /// - Throws: ``HabitStoreError/Code/unsupported`` when the stage is no earlier one; why the move failed.
    public func demote(to stage: Stage? = nil) throws {
        try moveBack(to: stage, reason: .demoted)
    }

    func moveBack(to stage: Stage?, reason: StageChangeReason, onlyFrom: Stage? = nil) throws {
        try begin()
        defer { route.end() }
        try withOldUp { try moveBackNow(to: stage, reason: reason, onlyFrom: onlyFrom) }
    }

    private func moveBackNow(to stage: Stage?, reason: StageChangeReason, onlyFrom: Stage?) throws {
        try routing.withLock { routing in
            try withSwitch(&routing) { routing, change in
                let revision = flags.revision
                let actual = try reroute(&routing, change, revision).actual
                if let onlyFrom, actual.stage != onlyFrom { return }
                let before = Stage(position: actual.stage.position - 1)
                // The kill switch may have been waiting for the copy.
                if let stage, actual.stage <= stage, actual.state.isKilled { return }
                guard let target = stage ?? before, target < actual.stage else {
                    throw HabitStoreError(
                        .unsupported,
                        "the user is at \(actual.stage.rawValue), and \((stage ?? .off).rawValue) is no earlier stage",
                        at: .init(path: directory.path)
                    )
                }
                let moved = try change.move(
                    actual,
                    to: target,
                    isKilled: actual.state.isKilled,
                    evidence: remembered(actual)
                )
                note(actual, moved, reason, &routing)
                _ = try install(moved, change, nil, revision, &routing)
            }
        }
    }

    /// Lets a killed user go forward again.
    ///
    /// - Parameter person: who re-arms, for the evidence.
    /// - Returns: whether the user was killed.
    /// - Throws: ``HabitStoreError/Code/unsupported`` while something still pulls the kill switch.
    @discardableResult
    public func rearm(by person: String) throws -> Bool {
        if let signal = flags.provider.killSignal(context: context) {
            throw HabitStoreError(.unsupported, "the kill switch is still pulled: \(signal); take that away first")
        }
        guard !flags.latch.isSet else {
            throw HabitStoreError(
                .unsupported,
                "the kill switch was pulled for everybody; re-arm the whole root first",
                at: .init(path: flags.latch.path)
            )
        }
        try begin()
        defer { route.end() }
        return try routing.withLock { routing in
            try withSwitch(&routing) { routing, change in
                let revision = flags.revision
                let wanted = WantedStage(flags.provider.snapshot, context, engines)
                let actual = try change.settle(wanted.engines)
                // A kill that no store has been told of yet is forgotten where it is remembered.
                let wasRemembered = change.control.isKilled
                guard let actual, actual.state.isKilled else {
                    change.control.forgetKill()
                    if wasRemembered { record([.rearmed(by: person)]) }
                    return wasRemembered
                }
                let armed = try change.move(actual, to: actual.stage, evidence: remembered(actual))
                change.control.forgetKill()
                record([.rearmed(by: person)])
                routing.loggedEpoch = armed.epoch
                _ = try install(armed, change, nil, revision, &routing)
                return true
            }
        }
    }

    /// A shadow read came out differently.
    func found(_ difference: ShadowDifference, at stage: Stage, epoch: Int) {
        options.logger.error(
            "a user's stores differ",
            metadata: [
                "stage": "\(stage.rawValue)", "token": "\(difference.token)", "what": "\(difference.message)",
                "folder": "\(directory.path)",
            ]
        )
        recordDifference(
            .difference(stage: stage, token: difference.token, message: difference.message, epoch: epoch)
        )
        guard stage == .live else { return anchorEvidence() }
        do {
            try moveBack(to: .shadow, reason: .differenceFound, onlyFrom: .live)
        } catch {
            options.logger.error("a user whose stores differ could not be taken back: \(error)")
        }
    }

    // MARK: The gate

    private func decide(_ actual: Actual, _ target: Stage, _ wanted: Stage?) throws -> GateDecision {
        route.load()?.shadow?.flush()
        if owesEvidence { record([]) }
        let mirror = mirrorFacts(actual)
        let facts = GateFacts(
            evidence: try evidence.summary(trust(actual)),
            lag: mirror.lag,
            isBackfilled: mirror.isBackfilled,
            isKilled: actual.state.isKilled || isKillPulled,
            isMirrorParted: mirror.hasParted,
            owesEvidence: owesEvidence
        )
        return Gate(policy: options.gate).decide(from: actual.stage, to: target, facts: facts, now: Date())
            .proposed(wanted, from: actual.stage, to: target)
    }

    /// What the gate is told of the other store: how many transactions it is behind (all of them where it cannot be asked),
    /// whether it was filled, and whether it has gone another way. A file that a killed process has not finished making is
    /// finished by the mirror, and a write that another process is just carrying over is no lag, and is waited for.
    private func mirrorFacts(_ actual: Actual) -> (lag: Int, isBackfilled: Bool, hasParted: Bool) {
        let nothing = (lag: Int(actual.token.rawValue), isBackfilled: false, hasParted: false)
        guard let here = try? pair.standing(actual.engine) else { return nothing }
        route.load()?.mirror?.follow(to: here.token, waitSeconds: options.mirror.waitSeconds)
        guard let there = try? pair.standing(actual.other) else { return nothing }
        let follows = actual.stage.mirror != nil && !actual.stage.awaitsMirror
        return (
            lag: Int(max(0, here.token.rawValue - there.token.rawValue)),
            isBackfilled: there.role != .backfilling && there.lineage == here.lineage,
            hasParted: follows && pair.hasParted(there, from: here)
        )
    }
}
