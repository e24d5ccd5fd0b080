import Dispatch
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

/// A queue of comparisons, and the one thread that makes them.
///
/// The thread lingers for a moment when the queue is empty: waking it up is the most expensive part of a comparison for the reader.
final class ShadowQueue<Element: Sendable>: Sendable {
    private struct State {
        var waiting: [Element] = []
        var isWorking = false
    }

    private static var lingeringSeconds: Double { 0.001 }

    private let state = Mutex(State())
    private let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label, qos: .utility) }

    /// Adds an element, and runs `work` unless it is running.
    func append(_ element: Element, _ work: @escaping @Sendable () -> Void) {
        let begins = state.withLock { state in
            state.waiting.append(element)
            defer { state.isWorking = true }
            return !state.isWorking
        }
        if begins { queue.async(execute: work) }
    }

    /// The waiting elements; for the working thread.
    func takeNow() -> [Element] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// The elements that are waiting now or arrive in a moment. If there are none, the work has ended.
    func take() -> [Element] {
        let found = takeNow()
        guard found.isEmpty else { return found }
        Thread.sleep(forTimeInterval: Self.lingeringSeconds)
        return state.withLock { state in
            defer { state.waiting = [] }
            state.isWorking = !state.waiting.isEmpty
            return state.waiting
        }
    }
}

/// Enforces the time limit of a comparison, even if the comparing thread hangs in a store.
final class ComparisonWatch: Sendable {
    private struct State {
        /// The deadline of the present comparison; nil if there is none, or its timeout was already reported.
        var deadline: ContinuousClock.Instant?
        /// The number of questions in it.
        var count = 0
        var isArmed = false
    }

    private let limitSeconds: Double
    private let onTimeout: @Sendable (Int) -> Void
    private let state = Mutex(State())
    private let late = Atomic<Bool>(false)

    /// - Parameter onTimeout: receives the number of questions that timed out, once for each comparison.
    init(limitSeconds: Double, onTimeout: @escaping @Sendable (Int) -> Void) {
        self.limitSeconds = limitSeconds
        self.onTimeout = onTimeout
    }

    /// Whether the present comparison has timed out.
    var isLate: Bool { late.load(ordering: .relaxed) }

    func begin(_ count: Int) {
        late.store(false, ordering: .relaxed)
        let arms = state.withLock { state in
            state.deadline = .now + .seconds(limitSeconds)
            state.count = count
            defer { state.isArmed = true }
            return !state.isArmed
        }
        if arms { arm(limitSeconds) }
    }

    /// Ends the comparison.
    ///
    /// - Returns: whether it was in time; otherwise the timeout was already reported.
    func end() -> Bool {
        state.withLock { $0.deadline = nil }
        return !isLate
    }

    private func arm(_ seconds: Double) {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + seconds) { [weak self] in self?.poll() }
    }

    private func poll() {
        let (left, count) = state.withLock { state -> (Double?, Int) in
            guard let deadline = state.deadline else {
                state.isArmed = false
                return (nil, 0)
            }
            let left = (deadline - .now) / .seconds(1)
            if left > 0 { return (left, 0) }
            late.store(true, ordering: .relaxed)
            state.deadline = nil
            state.isArmed = false
            return (nil, state.count)
        }
        if let left { arm(left) }
        if count > 0 { onTimeout(count) }
    }
}

/// The outcomes of comparisons since they were last recorded.
struct ShadowCounts: Sendable, Equatable {
    private var counts = [Int](repeating: 0, count: ShadowVerdict.allCases.count)

    /// The number of comparisons with an outcome.
    subscript(_ verdict: ShadowVerdict) -> Int {
        get { counts[verdict.position] }
        set { counts[verdict.position] = newValue }
    }

    var total: Int { counts.reduce(0, +) }
}

extension ShadowVerdict {
    /// The index of the verdict.
    var position: Int {
        switch self {
        case .match: 0
        case .mismatch: 1
        case .rerun: 2
        case .skewed: 3
        case .error: 4
        case .timedOut: 5
        case .shed: 6
        }
    }
}

/// The outcomes of a user's shadow reads since the store was opened.
final class ShadowTotals: Sendable {
    private let counts = Mutex(ShadowCounts())

    func add(_ verdict: ShadowVerdict, _ count: Int) { counts.withLock { $0[verdict] += count } }

    var all: [ShadowVerdict: Int] {
        counts.withLock { counts in
            Dictionary(uniqueKeysWithValues: ShadowVerdict.allCases.map { ($0, counts[$0]) })
        }
    }
}
