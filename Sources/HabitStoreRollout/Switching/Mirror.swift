import Dispatch
import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// Keeps the new store following the old one while the old one is authoritative.
///
/// It reads the history of the old store after the mirror's token and applies it in one transaction of the mirror, whose token proves what was
/// applied: each transaction arrives once and in order, whichever process carries it over and wherever it is killed. It runs on a separate thread, so
/// that a mirror that fails or hangs delays a write by the stated wait at most. If the mirror needs a copy and another process is making one, this
/// one waits for it.
final class Mirror: Sendable {
    private struct State {
        /// The last token that the mirror is known to have; later history has to be kept.
        var applied = HistoryToken.zero
        var wanted = HistoryToken.zero
        var isScheduled = false
        /// Numbers what was scheduled: a retry replaces one that is still to come.
        var scheduledCount = 0
        /// Whether what was scheduled waits for its time.
        var isPausing = false
        var isStopped = false
        /// Whether another process has the right to copy.
        var awaitsCopyLock = false
        var failures = 0
        /// The lag that was last reported to the metrics, in transactions.
        var toldLag = 0
        var failure: HabitStoreError?
        var copied: Backfill.Progress?
        /// Whether a write waited in vain since the mirror was last current: until then no other write waits.
        var isLate = false
        /// The lineage of both stores, once their histories were compared at a common token.
        var lineage: UUID?
        /// Whether the mirror names its owner.
        var isClaimed = false
        /// A write that is being committed in the authoritative store, and its outcome; one at a time.
        var prepared: PreparedWrite?
        /// How many writes were prepared, which numbers them: a write that failed and the one after it have the same token.
        var preparedCount = 0
        var verdict: Bool?
    }

    private let pair: StorePair
    private let source: EngineName
    private let other: EngineName
    /// The epoch in which the source is authoritative.
    let epoch: Int
    private let rollout: RolloutState
    private let options: MirrorOptions
    /// How long to wait for another process's copy without progress.
    private let copyLockWaitSeconds: Double
    private let metrics: RolloutMetrics
    private let stopwatch: RolloutMetrics.Stopwatch?
    private let onCopied: @Sendable (Backfill.Outcome) -> Void
    private let onRefused: @Sendable () -> Void
    private let onOutdated: @Sendable () throws -> Void
    private let queue: DispatchQueue
    private let changed = NSCondition()
    /// Guarded by ``changed``.
    private nonisolated(unsafe) var state = State()

    /// - Parameters:
    ///   - actual: the user's stage.
    ///   - onCopied: called after each copy.
    ///   - onRefused: called if the other store is not a follower.
    ///   - onOutdated: migrates the other store to the version of the source.
    init(
        _ pair: StorePair,
        _ actual: ActualStage,
        options: MirrorOptions,
        copyLockWaitSeconds: Double,
        metrics: RolloutMetrics,
        onCopied: @escaping @Sendable (Backfill.Outcome) -> Void,
        onRefused: @escaping @Sendable () -> Void,
        onOutdated: @escaping @Sendable () throws -> Void
    ) {
        self.pair = pair
        (source, other) = (actual.engine, actual.other)
        (epoch, rollout) = (actual.epoch, actual.state)
        self.options = options
        self.copyLockWaitSeconds = copyLockWaitSeconds
        self.metrics = metrics
        stopwatch = metrics.stopwatch(actual.other, .mirror)
        (self.onCopied, self.onRefused, self.onOutdated) = (onCopied, onRefused, onOutdated)
        queue = DispatchQueue(label: "HabitStore.mirror.\(pair.directory.path)")
    }

    var status: MirrorStatus {
        locked { state in
            if let failure = state.failure { return .lagging(since: state.applied, failure) }
            if let copied = state.copied { return .copying(done: copied.done, total: copied.total) }
            return state.applied >= state.wanted && !state.isScheduled
                ? .current(state.applied) : .following(since: state.applied)
        }
    }

    /// The last token whose history the mirror no longer needs.
    var applied: HistoryToken { locked { $0.applied } }

    /// Has the mirror carry over everything up to a token, after a write or at the start, and waits for it.
    ///
    /// - Parameter committed: the number of a prepared write that is committed.
    /// - Returns: whether the token was reached within `waitSeconds`. Does not wait for a mirror that failed or was late before.
    @discardableResult
    func follow(to token: HistoryToken, committed: Int? = nil, waitSeconds: Double) -> Bool {
        changed.lock()
        defer { changed.unlock() }
        state.wanted = max(state.wanted, token)
        tellLag()
        if let committed { decide(committed, true) }
        schedule()
        let deadline = Date(timeIntervalSinceNow: waitSeconds)
        while state.applied < token, state.failure == nil, state.copied == nil, !state.isLate, !state.isStopped {
            guard waitSeconds > 0 else { return false }
            if !changed.wait(until: deadline) { state.isLate = true }
        }
        return state.applied >= token
    }

    /// Passes on a write that is about to be committed, from inside its transaction: the mirror applies it meanwhile, and commits once
    /// ``follow(to:committed:waitSeconds:)`` says that the write was committed.
    ///
    /// - Returns: the number of the write, for ``follow(to:committed:waitSeconds:)`` or ``forget(_:)``, one of which must follow; nil if
    ///   the mirror does not take part.
    func prepare(_ transaction: HistoryTransaction, in source: any ReplicaSnapshot, epoch: Int) throws -> Int? {
        let lineage = locked { state in
            state.isScheduled || state.failure != nil || state.isStopped || state.prepared != nil ? nil : state.lineage
        }
        guard let lineage, let records = try WrittenRecords(transaction, in: source, schema: pair.schema) else {
            return nil
        }
        let floor = try source.position().historyFloor
        changed.lock()
        defer { changed.unlock() }
        // A worker that has begun meanwhile would not see the write.
        guard !state.isScheduled, state.failure == nil, !state.isStopped, state.prepared == nil else { return nil }
        state.preparedCount += 1
        state.prepared = PreparedWrite(
            number: state.preparedCount,
            records: records,
            lineage: lineage,
            epoch: epoch,
            historyFloor: floor
        )
        state.verdict = nil
        schedule()
        return state.preparedCount
    }

    /// Ends a prepared write that was not committed, or whose outcome is unknown. It has no effect on one that was.
    func forget(_ number: Int) {
        changed.lock()
        decide(number, false)
        changed.unlock()
    }

    /// Decides only the prepared write, and only once. Only while ``changed`` is locked.
    private func decide(_ number: Int, _ verdict: Bool) {
        guard state.prepared?.number == number, state.verdict == nil else { return }
        state.verdict = verdict
        changed.broadcast()
    }

    /// Waits until the mirror is idle: current or failed.
    ///
    /// - Returns: whether it carried over everything that was requested.
    func waitUntilIdle(waitSeconds: Double) -> Bool {
        changed.lock()
        defer { changed.unlock() }
        let deadline = Date(timeIntervalSinceNow: waitSeconds)
        while state.isScheduled, state.failure == nil, !state.isStopped {
            guard changed.wait(until: deadline) else { break }
        }
        return state.failure == nil && !state.isScheduled
    }

    /// Whether it is idle: it is current, failed and waits to retry, or waits for another process's copy.
    var isAtRest: Bool { locked { !$0.isScheduled || $0.failure != nil || $0.awaitsCopyLock } }

    /// Stops following, after the current step.
    func stop() {
        changed.lock()
        state.isStopped = true
        tellLag()
        changed.broadcast()
        changed.unlock()
    }

    /// Stops following, and waits for the current step: after that it has no store open.
    ///
    /// - Returns: whether the step ended in time.
    func end(waitSeconds: Double) -> Bool {
        stop()
        let isDone = DispatchSemaphore(value: 0)
        queue.async { isDone.signal() }
        return isDone.wait(timeout: .now() + waitSeconds) == .success
    }

    /// Retries immediately after a failure.
    func retry() {
        changed.lock()
        state.failure = nil
        state.failures = 0
        if state.isPausing { (state.isPausing, state.isScheduled) = (false, false) }
        schedule()
        changed.unlock()
    }

    private func locked<R>(_ body: (inout State) -> R) -> R {
        changed.lock()
        defer { changed.unlock() }
        return body(&state)
    }

    /// Reports the lag while the user is open, and 0 afterwards, when the user's files tell it. Only while ``changed`` is locked.
    private func tellLag() {
        let lag = state.isStopped ? 0 : Int(max(0, state.wanted.rawValue - state.applied.rawValue))
        metrics.mirrorLag(from: state.toldLag, to: lag)
        state.toldLag = lag
    }

    // MARK: The worker

    /// Only while ``changed`` is locked.
    private func schedule(after seconds: Double = 0) {
        guard !state.isScheduled, !state.isStopped, state.failure == nil || seconds > 0 else { return }
        state.isScheduled = true
        state.isPausing = seconds > 0
        state.scheduledCount += 1
        let number = state.scheduledCount
        let work: @Sendable () -> Void = { [weak self] in self?.work(number) }
        if seconds > 0 {
            queue.asyncAfter(deadline: .now() + seconds, execute: work)
        } else {
            queue.async(execute: work)
        }
    }

    private func work(_ number: Int) {
        let isDue = locked { state in
            guard state.scheduledCount == number else { return false }
            state.isPausing = false
            return true
        }
        guard isDue else { return }
        guard !locked({ $0.isStopped }) else { return finish(nil) }
        do {
            let start = ContinuousClock.now
            let token = try commitPrepared() ?? carry()
            stopwatch?.stop(since: start)
            finish(nil, token)
        } catch let error as HabitStoreError {
            _ = pair.closeIfMoved(error) || pair.closeIfWritable(error)
            finish(error)
            if error.code == .notAuthoritative { onRefused() }
        } catch is Stopped {
            finish(nil)
        } catch {
            finish(HabitStoreError(.inputOutput, "\(error)", at: .init(path: pair.directory.path)))
        }
    }

    private struct Stopped: Error {}

    /// The prepared write was not committed, or not in time.
    private struct NotCommitted: Error {}

    /// Applies the write that is being committed in the authoritative store, and commits once that is committed.
    ///
    /// - Returns: nil if there is none, or it has to be carried over from the history.
    private func commitPrepared() throws -> HistoryToken? {
        guard let prepared = locked({ $0.prepared }) else { return nil }
        defer { locked { ($0.prepared, $0.verdict) = (nil, nil) } }
        do {
            let isApplied = try pair.store(other).replicate { replica in
                guard try prepared.apply(to: replica) else { return false }
                guard awaitVerdict() else { throw NotCommitted() }
                CrashPoint.reach("mirror.beforeCommit")
                return true
            }
            guard isApplied else {
                _ = awaitVerdict()
                return nil
            }
            CrashPoint.reach("mirror.committed")
            return prepared.transaction.token
        } catch is NotCommitted {
            return nil
        }
    }

    /// Whether the prepared write was committed; false on a timeout.
    private func awaitVerdict() -> Bool {
        changed.lock()
        defer { changed.unlock() }
        let deadline = Date(timeIntervalSinceNow: options.preparedWaitSeconds)
        while state.verdict == nil, !state.isStopped {
            guard changed.wait(until: deadline) else { break }
        }
        let isCommitted = state.verdict == true
        // From here on this mirror no longer waits for the write.
        if state.verdict == nil { state.verdict = false }
        return isCommitted
    }

    private func finish(_ failure: HabitStoreError?, _ token: HistoryToken? = nil) {
        changed.lock()
        defer {
            changed.broadcast()
            changed.unlock()
        }
        state.isScheduled = false
        state.copied = nil
        state.failure = failure
        if let token {
            state.applied = max(state.applied, token)
            state.failures = 0
            state.isLate = state.applied < state.wanted && state.isLate
        }
        tellLag()
        if failure != nil {
            state.failures += 1
            let pause = options.retrySeconds * Double(1 << min(state.failures - 1, 20))
            schedule(after: min(pause, options.longestRetrySeconds))
        } else if state.applied < state.wanted {
            schedule()
        }
    }

    /// Brings the mirror to the source's token.
    private func carry() throws -> HistoryToken {
        let from = try pair.store(source)
        let target = try openOther()
        try StorePair.requireOneVersion(from, target)
        if !locked({ $0.isClaimed }) {
            try pair.claimCopy(other, rollout)
            locked { $0.isClaimed = true }
        }
        if let token = try carry(from, target) { return token }
        let backfill = Backfill(
            from: from,
            to: target,
            chunk: options.copyChunk,
            epoch: epoch,
            pauseSeconds: options.copyPauseSeconds
        )
        let outcome: Backfill.Outcome
        do {
            let lock = try copyLock(for: backfill)
            defer { withExtendedLifetime(lock) {} }
            // Another process may have made the copy meanwhile.
            if let token = try carry(from, target) { return token }
            outcome = try backfill.run(progress: tell)
        }
        // Called without the right to copy, since writing the evidence may take long.
        onCopied(outcome)
        return outcome.token
    }

    /// Opens or creates the following store. It may have been missing or unreachable when the other one was migrated.
    private func openOther() throws -> any UserStoreBackend {
        do {
            return try pair.create(other)
        } catch let error as HabitStoreError where error.code == .migrationRequired {
            try onOutdated()
            return try pair.create(other)
        }
    }

    private func tell(_ progress: Backfill.Progress) throws {
        let isStopped = locked { state in
            state.copied = progress
            return state.isStopped
        }
        if isStopped { throw Stopped() }
    }

    /// Waits for the right to copy. Another process's copy brings this mirror up to date too, so this waits as long as it makes progress.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` if it makes none.
    private func copyLock(for backfill: Backfill) throws -> CopyLock {
        locked { $0.awaitsCopyLock = true }
        defer { locked { $0.awaitsCopyLock = false } }
        var progress: Backfill.Progress?
        var since = ContinuousClock.now
        while true {
            do {
                return try CopyLock(pair.directory)
            } catch let error as HabitStoreError where error.code == .busy {
                let now = try backfill.progress(of: progress?.total)
                if now.done != progress?.done { since = .now }
                progress = now
                guard ContinuousClock.now - since < .seconds(copyLockWaitSeconds) else {
                    throw HabitStoreError(
                        .busy,
                        "another process has the turn to copy into the user's stores, and nothing was copied for "
                            + "\(copyLockWaitSeconds) s",
                        at: error.location
                    )
                }
                try tell(now)
            }
            Thread.sleep(forTimeInterval: Self.copyLockPauseSeconds)
        }
    }

    private static let copyLockPauseSeconds = 0.02

    /// Applies the history after the mirror's token.
    ///
    /// - Returns: the mirror's token; nil if only a copy can bring it up to date.
    private func carry(_ from: any UserStoreBackend, _ target: any UserStoreBackend) throws -> HistoryToken? {
        let known = locked { $0.lineage }
        var lineage: UUID?
        let token = try from.replicaRead { snapshot -> HistoryToken? in
            let source = try snapshot.information()
            CrashPoint.reach("mirror.began")
            return try target.replicate { replica -> HistoryToken? in
                let mirror = try replica.information()
                guard mirror.lineage == source.lineage, try replica.backfillState() == nil,
                    mirror.token >= source.historyFloor
                else { return nil }
                if source.role == .authoritative, mirror.epoch < source.epoch, mirror.role != .backfilling {
                    // A move did not wait for this store.
                    try replica.setRole(.standby, epoch: source.epoch)
                } else if mirror.role != .standby {
                    throw HabitStoreError(
                        .notAuthoritative,
                        "the \(self.other.rawValue) store is \(mirror.role.rawValue) and follows no other"
                    )
                }
                if known != source.lineage,
                    !(try Replication.agree(snapshot, replica, at: min(mirror.token, source.token)))
                {
                    throw StageSwitch.parted(pair.address(self.other))
                }
                lineage = source.lineage
                guard mirror.token < source.token else {
                    // Another process may have advanced the mirror meanwhile. Otherwise the mirror has transactions that the source never had, or has
                    // lost.
                    let last = try mirror.token == source.token ? source.token : from.lastToken()
                    guard last >= mirror.token else {
                        throw StageSwitch.parted(pair.address(self.other))
                    }
                    return mirror.token
                }
                _ = try Replication.carry(from: snapshot, source, to: replica, mirror, schema: pair.schema)
                CrashPoint.reach("mirror.beforeCommit")
                return source.token
            }
        }
        CrashPoint.reach("mirror.committed")
        if token != nil { locked { $0.lineage = lineage } }
        return token
    }
}

extension ReplicableStore {
    fileprivate func lastToken() throws -> HistoryToken { try replicaRead { try $0.information().token } }
}

/// The state of a user's mirror.
public enum MirrorStatus: Sendable, CustomStringConvertible {
    /// This stage has no mirror.
    case none
    /// It has everything up to this token, and nothing is known to be missing.
    case current(HistoryToken)
    /// It is following, but has not reached the last requested write.
    case following(since: HistoryToken)
    /// It is being filled: `done` of `total` records.
    case copying(done: Int, total: Int)
    /// It cannot follow. Later writes are in the authoritative store's history.
    case lagging(since: HistoryToken, HabitStoreError)

    /// The state in one line.
    public var description: String {
        switch self {
        case .none: "none"
        case .current(let token): "current at token \(token)"
        case .following(let token): "following from token \(token)"
        case .copying(let done, let total): "copying, \(done) of \(total) records"
        case .lagging(let token, let error): "lagging since token \(token): \(error.description)"
        }
    }
}

/// The records that a write changed: enough to apply it to another store without reading the history.
struct WrittenRecords: Sendable {
    /// Writes with more changes are read from the history instead of kept in memory twice.
    static let maximumChanges = 64

    let transaction: HistoryTransaction
    /// The records' states after the write.
    let changes: [ReplicaChange]

    /// - Parameter source: the authoritative store, inside the write and after its changes.
    /// - Returns: nil for a write with many changes.
    init?(_ transaction: HistoryTransaction, in source: any ReplicaSnapshot, schema: Schema) throws {
        guard transaction.changes.count <= Self.maximumChanges else { return nil }
        self.transaction = transaction
        changes = try transaction.changes.map { change in
            let entity = try schema.position(ofEntity: change.entity)
            return ReplicaChange(entity: entity, id: change.id, try source.record(entity: entity, id: change.id))
        }
    }

    /// Applies the write to a store that has everything before it.
    func apply(to replica: any ReplicaTransaction) throws {
        try replica.apply(changes)
        try replica.append(transaction)
    }
}

/// A write that is about to be committed in the authoritative store, for the mirror to apply meanwhile.
struct PreparedWrite: Sendable {
    let number: Int
    let records: WrittenRecords
    /// The authoritative store's lineage.
    let lineage: UUID
    /// The authoritative store's epoch.
    let epoch: Int
    /// The token up to which the authoritative store's history was pruned.
    let historyFloor: HistoryToken

    var transaction: HistoryTransaction { records.transaction }

    /// Applies the write to a store that has everything before it.
    ///
    /// - Returns: false, with nothing changed, if the store is at another token, or is not a mirror of this epoch.
    func apply(to replica: any ReplicaTransaction) throws -> Bool {
        let mirror = try replica.information()
        guard mirror.lineage == lineage, mirror.role == .standby, mirror.epoch <= epoch,
            mirror.token.rawValue == transaction.token.rawValue - 1, try replica.backfillState() == nil
        else { return false }
        try records.apply(to: replica)
        if mirror.historyFloor < historyFloor { try replica.pruneHistory(through: historyFloor) }
        return true
    }
}
