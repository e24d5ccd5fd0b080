import Foundation
@_spi(Engines) import HabitStore
import Logging
import Synchronization

/// Asks the questions of a user's reads of the other store too, off the caller's path, and compares the answers.
///
/// Never changes the caller's answer, which is compared with the other store's answer at the same token. If the other store is past that token, both
/// are asked again at a later one, which gives another verdict: ``ShadowVerdict/rerun``.
final class ShadowReader: Sendable {
    /// The questions of one read transaction.
    struct Job: Sendable {
        let token: HistoryToken
        let reads: [RecordedRead]
    }

    /// Opens a store. Called on the reader's thread, so that a store that cannot be opened, or hangs, does not block the user's reads.
    typealias StoreSource = @Sendable () throws -> any UserStoreBackend

    /// Decides which questions to compare.
    let sampler: ShapeSampler
    let mine: StoreSource
    let theirs: StoreSource
    let engine: EngineName
    let schema: Schema
    let options: ShadowReadOptions
    let metrics: RolloutMetrics
    let stopwatch: RolloutMetrics.Stopwatch?
    let queue: ShadowQueue<Job>
    let onDifference: @Sendable (ShadowDifference) -> Void
    private let onCounts: @Sendable (ShadowCounts, _ isUrgent: Bool) -> Void
    private let logger: Logger
    /// The number of questions with a place that are not compared yet.
    private let waiting = Atomic<Int>(0)
    /// Locked while counts are passed to the evidence.
    private let flushing = Mutex<Void>(())
    private let counts = Mutex(ShadowCounts())
    /// All outcomes since the user's store was opened, from any reader.
    private let totals: ShadowTotals
    /// Enforces the time limit.
    let watch: ComparisonWatch

    /// - Parameters:
    ///   - mine: the store that the caller reads.
    ///   - theirs: the other store, of this engine.
    ///   - onDifference: called for each difference, outside the stores' transactions.
    ///   - onCounts: receives the outcomes of comparisons from time to time, and whether to avoid all waits.
    init(
        mine: @escaping StoreSource,
        theirs: @escaping StoreSource,
        engine: EngineName,
        user: UserDirectory,
        schema: Schema,
        options: RolloutOptions,
        metrics: RolloutMetrics,
        totals: ShadowTotals,
        onDifference: @escaping @Sendable (ShadowDifference) -> Void,
        onCounts: @escaping @Sendable (ShadowCounts, _ isUrgent: Bool) -> Void
    ) {
        self.mine = mine
        self.theirs = theirs
        self.engine = engine
        self.schema = schema
        self.options = options.shadowReads
        self.metrics = metrics
        stopwatch = metrics.stopwatch(engine, .shadow)
        self.totals = totals
        self.onDifference = onDifference
        self.onCounts = onCounts
        logger = options.logger
        sampler = ShapeSampler(oneIn: self.options.oneIn, seed: self.options.seed, user: user.user)
        queue = ShadowQueue(label: "HabitStore.shadow.\(user.path)")
        let told = TimeoutCount()
        watch = ComparisonWatch(limitSeconds: self.options.comparisonSeconds) { told.add($0) }
        told.reader = self
    }

    // MARK: On the caller's path

    /// Reserves a place for a question, if there is one.
    func reserve() -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue > options.queueLimit else { return true }
        giveUp(1, .shed)
        return false
    }

    /// Releases the places of questions that cannot be compared.
    func giveUp(_ count: Int, _ verdict: ShadowVerdict) {
        waiting.subtract(count, ordering: .relaxed)
        note(verdict, count)
    }

    /// Queues a read transaction's questions for comparison; all of them have a place.
    func compare(_ reads: [RecordedRead], at token: HistoryToken) {
        queue.append(Job(token: token, reads: reads)) { [self] in work() }
    }

    // MARK: Counting

    /// Counts verdicts; they reach the evidence with the next ``flush()``.
    func note(_ verdict: ShadowVerdict, _ count: Int = 1) {
        metrics.shadowRead(verdict, count)
        totals.add(verdict, count)
        counts.withLock { $0[verdict] += count }
    }

    /// Counts questions for which a store failed. Logs the first failure since the last record of the evidence.
    func noteFailure(_ error: any Error, _ count: Int) {
        metrics.shadowRead(.error, count)
        totals.add(.error, count)
        let isFirst = counts.withLock { counts in
            defer { counts[.error] += count }
            return counts[.error] == 0
        }
        if isFirst { logger.warning("a shadow read failed: \(error)") }
    }

    /// Passes the counts to the evidence. When it returns, everything counted before is there, even if another thread was just passing it on.
    ///
    /// - Parameter isUrgent: whether to avoid all waits: counts that another thread is passing on may then be missing.
    func flush(isUrgent: Bool = false) {
        if isUrgent {
            _ = flushing.withLockIfAvailable { _ in handOver(isUrgent: true) }
        } else {
            flushing.withLock { _ in handOver(isUrgent: false) }
        }
    }

    private func handOver(isUrgent: Bool) {
        let taken = counts.withLock { counts in
            defer { counts = ShadowCounts() }
            return counts
        }
        if taken.total > 0 { onCounts(taken, isUrgent) }
    }

    /// Whether no question is waiting.
    var isAtRest: Bool { waiting.load(ordering: .acquiring) == 0 }

    /// Waits until all earlier questions are compared, at most `seconds`.
    func drain(seconds: Double) {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while waiting.load(ordering: .acquiring) > 0, ContinuousClock.now < deadline { usleep(100) }
    }

    // MARK: On the reader's thread

    /// Releases the places of compared questions.
    func release(_ count: Int) { waiting.subtract(count, ordering: .releasing) }

    private func work() {
        while true {
            var jobs = queue.take()
            guard !jobs.isEmpty else { return }
            while !jobs.isEmpty {
                compareFirst(of: &jobs)
                if counts.withLock({ $0.total >= options.recordEvery }) { flush() }
            }
        }
    }
}

/// Reports timeouts to a reader; breaks the retain cycle between the reader and its watch.
private final class TimeoutCount: Sendable {
    private struct Weak { weak var reader: ShadowReader? }

    private let held = Mutex(Weak())

    var reader: ShadowReader? {
        get { held.withLock { $0.reader } }
        set { held.withLock { $0.reader = newValue } }
    }

    func add(_ count: Int) { reader?.note(.timedOut, count) }
}
