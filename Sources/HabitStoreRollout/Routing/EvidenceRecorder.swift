import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// Writes a user's evidence, and keeps what could not be written yet, whether or not the user's files are open.
final class EvidenceRecorder: Sendable {
    /// The user's open files.
    struct Scene {
        let pair: StorePair
        let control: ControlFile?
        /// The user's stage, once it is known.
        let actual: ActualStage?
    }

    let log: EvidenceLog
    let directory: UserDirectory
    let options: RolloutOptions
    private let metrics: RolloutMetrics
    /// Evidence that could not be written yet.
    let unwritten = Mutex<[EvidenceEvent]>([])
    /// Evidence of this process that was not reported to the stores yet.
    let unanchored = Mutex(UnanchoredEvidence())
    /// Locked while evidence is written.
    private let writing = Mutex<Void>(())
    /// The last time that the evidence could not be reported to the store that does not serve.
    private let otherFailed = Mutex<ContinuousClock.Instant?>(nil)
    /// The epoch of the last move that is known to be in the evidence.
    private let loggedEpoch = Mutex<Int?>(nil)

    init(_ directory: UserDirectory, _ options: RolloutOptions, _ metrics: RolloutMetrics) {
        (self.directory, self.options, self.metrics) = (directory, options, metrics)
        log = EvidenceLog(directory, keys: options.evidenceKeys)
    }

    /// Writes events, along with those that could not be written before.
    ///
    /// A failure does not fail a move, which has already happened. Unwritten events are kept, and meanwhile the gate, which reads only what is
    /// written, admits no one.
    ///
    /// - Parameter isUrgent: whether to avoid all waits: what cannot be written immediately is written later.
    /// - Returns: whether everything is written.
    @discardableResult
    func record(_ events: [EvidenceEvent], in scene: Scene, isUrgent: Bool = false) -> Bool {
        unwritten.withLock { $0 += events }
        guard isUrgent else { return writing.withLock { _ in writeDown(scene, waitSeconds: options.lockWaitSeconds) } }
        return writing.withLockIfAvailable { _ in writeDown(scene, waitSeconds: 0) } ?? false
    }

    /// Writes a difference. First records in the control file that it is owed, where there is always room: if the process dies, the disk is full or
    /// the file is read-only, the gate stays closed all the same.
    func recordDifference(_ event: EvidenceEvent, in scene: Scene) {
        scene.control?.addPendingDifference()
        record([event], in: scene)
    }

    /// Brings the evidence in the folder and in the serving store to the same lines, for a user who belongs to no machine; otherwise does nothing.
    ///
    /// - Returns: whether this machine and the others know each other's lines.
    @discardableResult
    func synchronize(_ actual: ActualStage?, _ pair: StorePair) -> Bool {
        do {
            _ = try sharedHead(actual, pair)
            return true
        } catch {
            options.logger.error("evidence cannot be shared with other machines: \(error)")
            return false
        }
    }

    /// The same.
    ///
    /// - Returns: the last line that all machines can know; nil for a user who belongs to one.
    /// - Throws: why the lines cannot be shared.
    func sharedHead(_ actual: ActualStage?, _ pair: StorePair) throws -> EvidenceHead? {
        try shared(actual, pair)?.synchronize()
    }

    /// The number of the last line that the serving store keeps for all machines; 0 for a user who belongs to one.
    func lastNumber(_ actual: ActualStage, _ pair: StorePair) throws -> Int {
        try shared(actual, pair)?.lastNumber() ?? 0
    }

    /// The evidence that the serving store keeps for all machines; nil for a user who belongs to one.
    private func shared(_ actual: ActualStage?, _ pair: StorePair) -> SharedEvidence? {
        // Most users have files and nothing to share.
        guard let actual, pair.isWithoutMachine(actual.state) else { return nil }
        let failed = otherFailed.withLock { $0 }
        return SharedEvidence(
            log,
            pair,
            actual.state,
            limitSeconds: options.stepLimitSeconds,
            asksOther: failed.map { ContinuousClock.now - $0 >= Self.awayTime } ?? true
        ) { self.otherFailed.withLock { $0 = .now } }
    }

    /// How long to leave out the other store after a failed report.
    private static let awayTime = Duration.seconds(30)

    /// Whether there is evidence that could not be written yet.
    func owes(_ control: ControlFile?) -> Bool {
        unwritten.withLock { !$0.isEmpty } || (control?.owedDifferences ?? 0) > 0
    }

    /// Only while ``writing`` is locked.
    private func writeDown(_ scene: Scene, waitSeconds: Double) -> Bool {
        var events = unwritten.withLock { $0 }
        let count = events.count
        let owed = scene.control?.owedDifferences ?? 0
        if owed > 0, let actual = scene.actual, !events.contains(where: \.tellsOfADifference) {
            // Another process, perhaps a dead one, found it; its details are lost.
            let message = "a difference was found that could not be written down then"
            events.append(.difference(stage: actual.stage, token: actual.token, message: message, epoch: actual.epoch))
        }
        guard !events.isEmpty else { return true }
        do {
            try write(events, scene, waitSeconds)
        } catch {
            options.logger.error("evidence cannot be written: \(error)")
            metrics.evidenceFailed()
            return false
        }
        unwritten.withLock { $0.removeFirst(min(count, $0.count)) }
        // Before the debt is cleared: if the process dies in between, the difference stays owed.
        if events.contains(where: \.concernsDifferences) { markDifferences(scene) }
        scene.control?.clearPendingDifferences(owed)
        scene.control?.noteSeen(log)
        CrashPoint.reach("evidence.appended")
        return true
    }

    /// Updates the user's mark in the root's list of differing users. If that fails, the evidence still records the difference.
    private func markDifferences(_ scene: Scene) {
        do {
            let trusted = scene.actual.map { trust($0, scene.pair) } ?? EvidenceTrust(seal: log.seal)
            try DifferenceMarks(directory).update(directory) { try log.summary(trusted).evidence }
        } catch {
            options.logger.error("a user whose stores differ cannot be marked: \(error)")
        }
    }

    /// Writes events. An event that does not fit into a line is logged instead, so that it does not block others.
    private func write(_ events: [EvidenceEvent], _ scene: Scene, _ waitSeconds: Double) throws {
        do {
            try add(events, scene, waitSeconds)
        } catch let error as HabitStoreError where error.code == .invalidValue || error.code == .limitExceeded {
            for event in events {
                do {
                    try add([event], scene, waitSeconds)
                } catch let error as HabitStoreError where error.code == .invalidValue || error.code == .limitExceeded {
                    options.logger.error("an event cannot be written as evidence: \(error)")
                }
            }
        }
    }

    private func add(_ events: [EvidenceEvent], _ scene: Scene, _ waitSeconds: Double) throws {
        let anchor = scene.actual?.state.evidence
        func trusted() -> EvidenceTrust {
            scene.actual.map { trust($0, scene.pair) } ?? EvidenceTrust(anchor: anchor, seal: log.seal)
        }
        if waitSeconds > 0 {
            do {
                let shared = shared(scene.actual, scene.pair)
                if let stretch = try shared?.add(events, at: Date(), anchor: anchor, trust: trusted) {
                    unanchored.withLock { $0.add(stretch) }
                    return
                }
            } catch let error as HabitStoreError where error.code != .invalidValue && error.code != .limitExceeded {
                options.logger.error("evidence is shared with other machines later: \(error)")
            }
        }
        let added = try log.add(events, at: Date(), anchor: anchor, waitSeconds: waitSeconds, trust: trusted)
        unanchored.withLock { $0.add(added.stretch) }
    }

    /// Records that the gate refused, unless it last refused for the same reasons in this stay, ignoring figures: retries every few seconds would
    /// otherwise fill the disk.
    ///
    /// - Parameter anchor: the stores' anchor of the evidence.
    func recordRefusal(_ decision: GateDecision, to stage: Stage, in scene: Scene, anchor: EvidenceHead?) {
        metrics.refused(decision.reasons)
        var last: StageEvidence.Refusal?
        do {
            last = try log.summary(anchor: anchor).evidence.refusal
        } catch {
            options.logger.error("evidence cannot be read: \(error)")
        }
        let isNew = last != StageEvidence.Refusal(to: stage, decision.reasons)
        record(isNew ? [.refused(to: stage, reasons: decision.reasons)] : [], in: scene)
    }

    /// Writes a checkpoint if one is overdue, so that the long log of an earlier version is read only once, and not for every decision.
    func checkpoint(_ actual: ActualStage, in scene: Scene) {
        do {
            let summary = try log.summary(trust(actual, scene.pair))
            guard let line = try log.checkpoint(after: summary, at: Date()) else { return }
            unanchored.withLock { $0.add(line) }
            anchor(in: scene)
        } catch {
            options.logger.error("no checkpoint of the evidence can be written: \(error)")
        }
    }

    /// Records a move.
    ///
    /// - Parameter events: what led to it, recorded before it.
    /// - Returns: whether all of it is written.
    @discardableResult
    func note(
        _ before: ActualStage,
        _ after: ActualStage,
        _ reason: StageChangeReason,
        because: String? = nil,
        after events: [EvidenceEvent] = [],
        in scene: Scene,
        isUrgent: Bool = false
    ) -> Bool {
        loggedEpoch.withLock { $0 = after.epoch }
        metrics.stageChanged(from: before.stage, to: after.stage, reason)
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
            reason: reason,
            because: because
        )
        let isWritten = record(events + [moved], in: scene, isUrgent: isUrgent)
        if isWritten { scene.control?.noteLogged(after.epoch, in: log) }
        return isWritten
    }

    /// Notes that the user's last move needs no further line in the evidence.
    func noteLogged(_ actual: ActualStage) { loggedEpoch.withLock { $0 = actual.epoch } }

    /// Records a move that the stores have and the evidence lacks, because its process was killed.
    func makeUp(for actual: ActualStage, in scene: Scene) {
        guard loggedEpoch.withLock({ $0 }) != actual.epoch else { return }
        synchronize(actual, scene.pair)
        // Most openings end here: reading the log would take longer than the rest of an opening.
        if scene.control?.hasLogged(actual.epoch, in: log) == true { return noteLogged(actual) }
        do {
            let trace = try log.trace(anchor: nil)
            let (stage, epoch) = (trace?.stage ?? .off, trace?.epoch ?? 0)
            noteLogged(actual)
            var isWritten = true
            // Even for the same stage, since earlier proof belongs to another stay; but not for a user who never moved.
            if epoch < actual.epoch, epoch > 0 || stage != actual.stage {
                let recovered = EvidenceEvent.stageChanged(
                    from: stage,
                    to: actual.stage,
                    epoch: actual.epoch,
                    token: actual.token,
                    reason: .recovered
                )
                isWritten = record([recovered], in: scene)
            }
            if isWritten { scene.control?.noteLogged(actual.epoch, in: log) }
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

    /// Whether it records a difference, or may refute one.
    fileprivate var concernsDifferences: Bool {
        switch self {
        case .verified: true
        case .shadowReads(_, _, let different, _, _, _, _, _, _): different > 0
        default: tellsOfADifference
        }
    }
}

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
            if let now = try pair.status(actual.engine), now.epoch == actual.epoch, let known = now.state {
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
    private func isInLog(_ stretch: EvidenceLineRange, _ anchor: EvidenceHead?) -> Bool {
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
                trust = EvidenceTrust(anchor: head, vouched: AcknowledgedRanges(), seal: log.seal)
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
        guard let status = try pair.status(engine), status.role == .authoritative, status.epoch == actual.epoch,
            // Without an anchor in the stores, the log may be another user's.
            let state = status.state, state.evidence != nil
        else { return true }
        var next = state
        next.remember(trust(state, through: shared))
        guard next != state else {
            // A move has already reported the lines, or the log is another one.
            unanchored.withLock { $0.remove(stretches) }
            return true
        }
        (next.owner, next.machine) = (status.owner ?? directory.owner, status.machine?.text)
        let text = try next.encoded()
        let place = status.place
        let isTold = try Deadline.run(
            seconds: options.stepLimitSeconds,
            path: pair.address(engine).path
        ) { _ in
            try pair.store(engine).replicate { replica in
                let now = try pair.status(engine, replica)
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

/// Lines of evidence that this process has written and not reported to the stores yet. If the process dies first, they never count, since their
/// writer cannot be verified.
struct UnanchoredEvidence {
    /// The most stretches that are kept; beyond that, the oldest never count.
    private static let maximumStretches = 64

    private(set) var stretches: [EvidenceLineRange] = []
    /// The time of the last report to the stores.
    var lastTold: ContinuousClock.Instant?

    mutating func add(_ stretch: EvidenceLineRange) {
        if let joined = stretches.last?.joined(with: stretch) {
            stretches[stretches.count - 1] = joined
        } else {
            stretches = (stretches + [stretch]).suffix(Self.maximumStretches)
        }
    }

    /// Removes lines that the stores know of, or that are no longer in the log.
    mutating func remove(_ told: [EvidenceLineRange]) { stretches.removeAll(where: told.contains) }
}
