import HabitStore

extension UserStore {
    /// Brings the user as far towards the wanted stage as the gate lets, and provides on the way what can be provided:
    /// verifications, and the rehearsal of the way back.
    ///
    /// - Parameters:
    ///   - stage: the stage to go to; nil for what the flags want.
    ///   - waitSeconds: how long the mirror may take to be filled and to catch up; nil for
    ///     ``RolloutOptions/stepLimitSeconds``.
    ///   - progress: is told what is being done.
    /// - Returns: the last decision of the gate; nil where there was nothing to decide.
    /// - Throws: why a step failed; the user stays where the last one led.
    @discardableResult
    public func advance(
        to stage: Stage? = nil,
        waitSeconds: Double? = nil,
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> GateDecision? {
        try begin()
        defer { route.end() }
        var last: GateDecision?
        checkpointEvidence()
        // The stage is asked for first: that is what finds out whether the flags have changed.
        while let next = try self.stage().next, let target = stage ?? wantedStage, next <= target {
            catchUp(waitSeconds: waitSeconds ?? options.stepLimitSeconds, progress)
            route.load()?.shadow?.drain(seconds: options.stepLimitSeconds)
            var decision = try self.decision(for: next)
            if !decision.isOpen, try provide(decision.reasons, progress) { decision = try self.decision(for: next) }
            last = decision
            guard decision.isOpen else {
                metrics.refused()
                recordRefusal(decision, to: next, anchor: try currentRoute().actual.state.evidence)
                break
            }
            last = try promote(to: next)
            if last?.isOpen != true { break }
        }
        return last
    }

    /// Waits for the mirror, for as long as it gets on.
    private func catchUp(waitSeconds: Double, _ progress: (String, Int, Int) -> Void) {
        guard let mirror = route.load()?.mirror else { return }
        let deadline = ContinuousClock.now + .seconds(waitSeconds)
        while !mirror.settle(waitSeconds: min(0.1, waitSeconds)), ContinuousClock.now < deadline {
            switch mirror.status {
            case .copying(let done, let total): progress("copying", done, total)
            case .lagging: return
            case .none, .current, .following: continue
            }
        }
    }

    /// Provides what the gate misses, where nothing else stands in the way.
    private func provide(_ reasons: [GateReason], _ progress: (String, Int, Int) -> Void) throws -> Bool {
        let kinds = reasons.map(Remedy.init)
        guard !kinds.contains(.none) else { return false }
        if kinds.contains(.verify) { try verify(progress: progress) }
        if kinds.contains(.rehearse) { try rehearse() }
        return true
    }

    /// What helps against a reason of the gate.
    private enum Remedy {
        case verify
        case rehearse
        case none

        init(_ reason: GateReason) {
            switch reason {
            case .verificationMissing, .verificationStale, .selfComparisonMissing: self = .verify
            // Nothing was compared, since writes went on: that is no finding, and another try may find a quiet moment.
            case .verificationNotClean("skewed", 0), .coverageIncomplete: self = .verify
            // What could not be read then is told anew when it still cannot be.
            case .verificationNotClean("error", 0), .verificationNotClean("timedOut", 0): self = .verify
            case .rollbackNotRehearsed: self = .rehearse
            default: self = .none
            }
        }
    }

    /// One try in the background. A user who is not open is left alone, and this is no use that would keep one open.
    func advanceByItself() {
        let reference = self.route
        let (isOpen, wasUsed) = reference.beginWork()
        guard isOpen else { return }
        defer { reference.endWork(wasUsed: wasUsed) }
        do {
            // Nobody else may ask for a user who is not in use, and so find that the flags have changed.
            let route = try currentRoute()
            if route.refusal != nil {
                _ = try land()
            } else if let wanted = wantedStage, wanted > route.actual.stage, !route.actual.state.isKilled {
                try advance()
            }
        } catch {
            options.logger.warning(
                "a user could not be moved: \(error)",
                metadata: ["folder": "\(directory.path)"]
            )
        }
    }
}
