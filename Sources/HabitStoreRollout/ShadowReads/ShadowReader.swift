import Foundation
@_spi(Engines) import HabitStore
import Logging
import Synchronization

/// Puts the reads of a user to the other store too, off the caller's path, and compares.
///
/// The caller's answer is never touched. What the caller got is compared with what the other store says at the same token.
/// Where that store has gone past the token, the question is put to both again at a later one, which counts as another
/// verdict: ``ShadowVerdict/rerun``.
final class ShadowReader: Sendable {
    /// A read transaction's questions.
    struct Job: Sendable {
        let token: HistoryToken
        let reads: [RecordedRead]
    }

    /// Gives a store. It is asked on the reader's own thread: a store that cannot be opened, or hangs while it is, must not
    /// keep anybody from reading the user's own.
    typealias StoreSource = @Sendable () throws -> any UserStoreBackend

    /// Which questions are compared.
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
    /// Questions that have a place and are not compared yet.
    private let waiting = Atomic<Int>(0)
    /// Held while counts are on their way to the evidence.
    private let flushing = Mutex<Void>(())
    private let counts = Mutex(ShadowCounts())
    /// All that came out since the user's store was opened, whatever reader compared it.
    private let totals: ShadowTotals
    /// Sees to the deadline.
    let watch: ComparisonWatch

    /// - Parameters:
    ///   - mine: the store that the caller reads.
    ///   - theirs: the other one, of this engine.
    ///   - onDifference: is told of each difference, outside of the stores' transactions.
    ///   - onCounts: is told how comparisons came out, now and then, and whether nobody may be waited for.
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

    /// Takes a place for a question, if there is one.
    func reserve() -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue > options.queueLimit else { return true }
        giveUp(1, .shed)
        return false
    }

    /// Gives back the places of questions that nothing can be compared of.
    func giveUp(_ count: Int, _ verdict: ShadowVerdict) {
        waiting.subtract(count, ordering: .relaxed)
        note(verdict, count)
    }

    /// Has a read transaction's questions compared; all of them have a place.
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

    /// A store failed. The first time since the last record of the evidence says why.
    func noteFailure(_ error: any Error, _ count: Int) {
        metrics.shadowRead(.error, count)
        totals.add(.error, count)
        let isFirst = counts.withLock { counts in
            defer { counts[.error] += count }
            return counts[.error] == 0
        }
        if isFirst { logger.warning("a shadow read failed: \(error)") }
    }

    /// Hands what was counted to the evidence; when it returns, everything that was counted before is there, also what
    /// another thread was just handing over.
    ///
    /// - Parameter isUrgent: whether nobody is waited for: what another thread is handing over may not be there then.
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

    /// Whether there is nothing to compare.
    var isAtRest: Bool { waiting.load(ordering: .acquiring) == 0 }

    /// Waits until what was asked before is compared, `seconds` at most.
    func drain(seconds: Double) {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while waiting.load(ordering: .acquiring) > 0, ContinuousClock.now < deadline { usleep(100) }
    }

    // MARK: On the reader's own thread

    /// Questions are compared, and give their places back.
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

/// Tells a reader of the questions that ran out of time; it breaks the circle between the reader and its watch.
private final class TimeoutCount: Sendable {
    private struct Weak { weak var reader: ShadowReader? }

    private let held = Mutex(Weak())

    var reader: ShadowReader? {
        get { held.withLock { $0.reader } }
        set { held.withLock { $0.reader = newValue } }
    }

    func add(_ count: Int) { reader?.note(.timedOut, count) }
}
