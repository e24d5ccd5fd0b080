@_spi(Engines) import HabitStore
import Synchronization

extension EvidenceRecorder {
    /// How often shadow reads are reported to the stores at most, since it takes a write transaction. Reads that a killed process had not reported do
    /// not count.
    static let anchorEverySeconds = 1.0
    /// How often another process may interfere.
    private static let anchorAttempts = 5

    /// Decides which lines of the evidence count now: those in the serving store's state, and those that this process has written since.
    func trust(_ actual: ActualStage, _ pair: StorePair) -> EvidenceTrust {
        var state = actual.state
        do {
            // Other processes may have reported lines since this one read the state.
            if let now = try pair.standing(actual.engine), now.epoch == actual.epoch, let known = now.state {
                state = known
            }
        } catch {
            options.logger.warning("what a store remembers of the evidence cannot be read: \(error)")
        }
        return trust(state)
    }

    /// - Parameter shared: the last line that all machines can know. Acknowledging a later number would acknowledge whatever line gets it.
    private func trust(_ state: RolloutState, through shared: EvidenceHead? = nil) -> EvidenceTrust {
        var trust = EvidenceTrust(state, seal: log.seal)
        for stretch in unanchored.withLock({ $0.stretches })
        where stretch.last.sequence <= shared?.sequence ?? .max && isInLog(stretch, trust.anchor) {
            trust.take(stretch)
        }
        return trust
    }

    /// Whether lines of this process are still in the log, and the log is the one of the stores' anchor.
    private func isInLog(_ stretch: EvidenceStretch, _ anchor: EvidenceHead?) -> Bool {
        do {
            return try log.connects(anchor, stretch.last)
        } catch {
            options.logger.error("evidence cannot be read: \(error)")
            return false
        }
    }

    /// The evidence state to write to the stores: the log's head, unless the log lacks the present anchor, and the lines that count.
    func remembered(_ actual: ActualStage, _ pair: StorePair) -> EvidenceTrust {
        do {
            let shared = try sharedHead(actual, pair)
            var trust = trust(actual.state, through: shared)
            guard trust.anchor != nil else {
                let head = try shared ?? log.head()
                trust = EvidenceTrust(anchor: head, vouched: VouchedLines(), seal: log.seal)
                for stretch in unanchored.withLock({ $0.stretches }) where isInLog(stretch, head) {
                    trust.take(stretch)
                }
                return trust
            }
            // Any checkpoint will do for the head alone: a kill reads no more than that.
            let summary = try log.summary(EvidenceTrust(anchor: trust.anchor))
            if summary.containsAnchor { trust.anchor = shared ?? summary.head }
            return trust
        } catch {
            options.logger.error("evidence cannot be read: \(error)")
            return EvidenceTrust(actual.state, seal: log.seal)
        }
    }

    /// Reports the lines that this process has written to the serving store, so that they count for all processes.
    ///
    /// Never fails: what cannot be reported now is reported later, and what is never reported does not count.
    ///
    /// - Parameter seconds: the shortest time since the last report; nil to report in any case.
    func anchor(in scene: Scene, everySeconds seconds: Double? = nil) {
        guard let actual = scene.actual else { return }
        let now = ContinuousClock.now
        let isDue = unanchored.withLock { unanchored in
            guard !unanchored.stretches.isEmpty else { return false }
            if let seconds, let last = unanchored.lastTold, now - last < .seconds(seconds) { return false }
            unanchored.lastTold = now
            return true
        }
        guard isDue else { return }
        do {
            let shared = try sharedHead(actual, scene.pair)
            for _ in 0..<Self.anchorAttempts {
                if try anchor(actual, scene.pair, through: shared) { return }
            }
        } catch {
            options.logger.info("the evidence cannot be recorded in the stores now: \(error)")
        }
    }

    /// - Returns: false if another process interfered.
    private func anchor(_ actual: ActualStage, _ pair: StorePair, through shared: EvidenceHead?) throws -> Bool {
        let engine = actual.engine
        let stretches = unanchored.withLock { $0.stretches }
        guard let standing = try pair.standing(engine), standing.role == .authoritative, standing.epoch == actual.epoch,
            // Without an anchor in the stores, the log may be another user's.
            let state = standing.state, state.evidence != nil
        else { return true }
        var next = state
        next.remember(trust(state, through: shared))
        guard next != state else {
            // A move has already reported the lines, or the log is another one.
            unanchored.withLock { $0.remove(stretches) }
            return true
        }
        (next.owner, next.machine) = (standing.owner ?? directory.owner, standing.machine?.text)
        let text = try next.encoded()
        let place = standing.place
        let isTold = try Deadline.run(
            seconds: options.stepLimitSeconds,
            path: pair.address(engine).path
        ) { _ in
            try pair.store(engine).replicate { replica in
                let now = try pair.standing(engine, replica)
                guard now.place == place, now.state == state else { return false }
                try replica.setRolloutState(text)
                return true
            }
        }
        guard isTold else { return false }
        CrashPoint.reach("evidence.anchored")
        unanchored.withLock { $0.remove(stretches) }
        return true
    }
}
