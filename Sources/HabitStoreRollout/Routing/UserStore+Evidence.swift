import Foundation
import HabitStore

extension UserStore {
    /// Writes events down, with those that could not be written before.
    ///
    /// A move does not fail because of it: it has happened. What cannot be written is kept, and the gate, which reads what
    /// is written, lets nobody forward meanwhile.
    ///
    /// - Parameter isUrgent: whether nobody is waited for: what cannot be written at once is written later.
    /// - Returns: whether everything is written.
    @discardableResult
    func record(_ events: [EvidenceEvent], isUrgent: Bool = false) -> Bool {
        unwritten.withLock { $0 += events }
        guard isUrgent else { return recording.withLock { _ in writeDown(waitSeconds: options.lockWaitSeconds) } }
        return recording.withLockIfAvailable { _ in writeDown(waitSeconds: 0) } ?? false
    }

    /// Writes a difference down, which is remembered where there is room for it before it is tried: if the process dies, the
    /// disk is full or the file read-only, the gate stays closed all the same.
    func recordDifference(_ event: EvidenceEvent) {
        withControl { $0.oweDifference() }
        record([event])
    }

    /// Whether something is to be written that could not be written yet.
    public var owesEvidence: Bool {
        unwritten.withLock { !$0.isEmpty } || (withControl { $0.owedDifferences } ?? 0) > 0
    }

    /// Only while ``recording`` is locked.
    private func writeDown(waitSeconds: Double) -> Bool {
        var events = unwritten.withLock { $0 }
        let count = events.count
        let owed = withControl { $0.owedDifferences } ?? 0
        if owed > 0, let actual = route.present?.actual, !events.contains(where: \.tellsOfADifference) {
            // It was another process's, or one's that died, and what it was is not known any more.
            let message = "a difference was found that could not be written down then"
            events.append(.difference(stage: actual.stage, token: actual.token, message: message, epoch: actual.epoch))
        }
        guard !events.isEmpty else { return true }
        do {
            try write(events, waitSeconds: waitSeconds)
        } catch {
            options.logger.error("evidence cannot be written: \(error)")
            return false
        }
        unwritten.withLock { $0.removeFirst(min(count, $0.count)) }
        withControl { control in
            control.payDifferences(owed)
            control.noteSeen(evidence)
        }
        CrashPoint.reach("evidence.appended")
        return true
    }

    @discardableResult
    private func withControl<R>(_ body: (ControlFile) -> R?) -> R? {
        control.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { body($0) }
    }

    /// Writes events down. One that no line can hold is told to the log instead, and keeps no other back.
    private func write(_ events: [EvidenceEvent], waitSeconds: Double) throws {
        do {
            try add(events, waitSeconds)
        } catch let error as HabitStoreError where error.code == .invalidValue || error.code == .limitExceeded {
            for event in events {
                do {
                    try add([event], waitSeconds)
                } catch let error as HabitStoreError where error.code == .invalidValue || error.code == .limitExceeded {
                    options.logger.error("an event cannot be written as evidence: \(error)")
                }
            }
        }
    }

    private func add(_ events: [EvidenceEvent], _ waitSeconds: Double) throws {
        let actual = route.present?.actual
        let anchor = actual?.state.evidence
        let added = try evidence.add(events, at: Date(), anchor: anchor, waitSeconds: waitSeconds) {
            actual.map(trust) ?? EvidenceTrust(anchor: anchor, seal: evidence.seal)
        }
        unanchored.withLock { $0.add(added.stretch) }
    }

    /// Writes down that the gate refused, unless that is what it refused last in this stay, but for the figures: whoever
    /// tries every few seconds would fill the disk.
    ///
    /// - Parameter anchor: what the stores remember of the evidence.
    func recordRefusal(_ decision: GateDecision, to stage: Stage, anchor: EvidenceHead?) {
        var last: StageEvidence.Refusal?
        do {
            last = try evidence.summary(anchor: anchor).evidence.refusal
        } catch {
            options.logger.error("evidence cannot be read: \(error)")
        }
        let isNew = last != StageEvidence.Refusal(to: stage, decision.reasons)
        record(isNew ? [.refused(to: stage, reasons: decision.reasons)] : [])
    }

    /// Writes a checkpoint where none was written for long: what an earlier version left is read once, and not by each
    /// decision.
    func checkpointEvidence() {
        do {
            let summary = try evidence.summary(trust(try currentRoute().actual))
            guard let line = try evidence.checkpoint(after: summary, at: Date()) else { return }
            unanchored.withLock { $0.add(line) }
            anchorEvidence()
        } catch {
            options.logger.error("no checkpoint of the evidence can be written: \(error)")
        }
    }

    /// A move that was made.
    func note(
        _ before: Actual,
        _ after: Actual,
        _ reason: StageChangeReason,
        _ routing: inout Routing,
        isUrgent: Bool = false
    ) {
        routing.loggedEpoch = after.epoch
        metrics.stageChanged(from: before.stage, to: after.stage)
        options.logger.notice(
            "a user's stage changed",
            metadata: [
                "from": "\(before.stage.rawValue)", "to": "\(after.stage.rawValue)", "why": "\(reason.rawValue)",
                "token": "\(after.token)", "epoch": "\(after.epoch)", "folder": "\(directory.path)",
            ]
        )
        let moved = EvidenceEvent.stageChanged(
            from: before.stage,
            to: after.stage,
            epoch: after.epoch,
            token: after.token,
            reason: reason
        )
        let isWritten = record([moved], isUrgent: isUrgent)
        if isWritten { routing.control?.noteLogged(after.epoch, in: evidence) }
    }

    /// Makes up for a move that was written into the stores and not into the evidence, because its process was killed.
    func record(_ actual: Actual, _ routing: inout Routing) {
        guard routing.loggedEpoch != actual.epoch else { return }
        // Most openings end here: looking at the log takes longer than all the rest of them.
        if routing.control?.hasLogged(actual.epoch, in: evidence) == true {
            routing.loggedEpoch = actual.epoch
            return
        }
        do {
            let trace = try evidence.trace(anchor: nil)
            let (stage, epoch) = (trace?.stage ?? .off, trace?.epoch ?? 0)
            routing.loggedEpoch = actual.epoch
            var isWritten = true
            // Also where the stage is the same: what was proven before was proven in another stay. But for a user who never moved.
            if epoch < actual.epoch, epoch > 0 || stage != actual.stage {
                isWritten = record([
                    .stageChanged(
                        from: stage,
                        to: actual.stage,
                        epoch: actual.epoch,
                        token: actual.token,
                        reason: .recovered
                    )
                ])
            }
            if isWritten { routing.control?.noteLogged(actual.epoch, in: evidence) }
        } catch {
            options.logger.error("evidence cannot be read: \(error)")
        }
    }
}

extension EvidenceEvent {
    /// Whether it closes the gate because the stores differ.
    fileprivate var tellsOfADifference: Bool {
        switch self {
        case .difference: true
        case .verified(_, _, _, _, let differences, _, _): differences > 0
        default: false
        }
    }
}
