import Dispatch
import Foundation
import HabitStore
import Synchronization

/// Puts the reads of a user to the other store too, off the caller's path, and compares.
///
/// The caller's answer is never touched. Reads are compared at the same token or not at all.
final class ShadowReader: Sendable {
    /// A read transaction's questions.
    private struct Job: Sendable {
        let token: HistoryToken
        let reads: [RecordedRead]
    }

    /// How comparisons came out since they were noted last.
    struct Counts: Sendable, Equatable {
        var clean = 0
        var different = 0
        var skewed = 0
        var failed = 0
        var shed = 0

        var isEmpty: Bool { self == Counts() }
        var total: Int { clean + different + skewed + failed + shed }
    }

    /// A difference that was found.
    struct Difference: Sendable {
        let token: HistoryToken
        let message: String
    }

    private let store: @Sendable () throws -> any UserStoreBackend
    private let engine: EngineName
    private let options: ShadowReadOptions
    private let metrics: RolloutMetrics
    private let onDifference: @Sendable (Difference) -> Void
    private let onCounts: @Sendable (Counts) -> Void
    private let queue: DispatchQueue
    private let waiting = Atomic<Int>(0)
    private let sequence = Atomic<Int>(0)
    private let counts = Mutex(Counts())

    /// - Parameter store: gives the other store. It is asked on the reader's own thread: a store that cannot be opened, or
    ///   hangs while it is, must not keep anybody from reading the user's own.
    init(
        _ store: @escaping @Sendable () throws -> any UserStoreBackend,
        engine: EngineName,
        label: String,
        options: ShadowReadOptions,
        metrics: RolloutMetrics,
        onDifference: @escaping @Sendable (Difference) -> Void,
        onCounts: @escaping @Sendable (Counts) -> Void
    ) {
        self.store = store
        self.engine = engine
        self.options = options
        self.metrics = metrics
        self.onDifference = onDifference
        self.onCounts = onCounts
        queue = DispatchQueue(label: "HabitStore.shadow.\(label)", qos: .utility)
    }

    /// Whether the next read transaction is to be compared.
    func samples() -> Bool {
        options.oneIn == 1 || sequence.add(1, ordering: .relaxed).newValue % max(1, options.oneIn) == 0
    }

    /// Has a read transaction compared, when there is room.
    func compare(_ reads: [RecordedRead], at token: HistoryToken) {
        guard !reads.isEmpty else { return }
        guard waiting.add(1, ordering: .relaxed).newValue <= options.queueLimit else {
            waiting.subtract(1, ordering: .relaxed)
            return note(.shed)
        }
        let job = Job(token: token, reads: reads)
        queue.async { [self] in
            run(job)
            waiting.subtract(1, ordering: .relaxed)
        }
    }

    /// Hands what was counted to the evidence.
    func flush() {
        let taken = counts.withLock { counts in
            defer { counts = Counts() }
            return counts
        }
        if !taken.isEmpty { onCounts(taken) }
    }

    /// Waits until what was asked before is compared, `seconds` at most.
    func drain(seconds: Double) {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + seconds)
    }

    private func note(_ verdict: ShadowVerdict) {
        metrics.shadowRead(verdict)
        let isDue = counts.withLock { counts in
            switch verdict {
            case .match: counts.clean += 1
            case .mismatch: counts.different += 1
            case .skewed: counts.skewed += 1
            case .error: counts.failed += 1
            case .shed: counts.shed += 1
            }
            return counts.total >= options.recordEvery
        }
        if isDue { flush() }
    }

    private func run(_ job: Job) {
        let start = ContinuousClock.now
        let deadline = start + .seconds(options.tokenWaitSeconds)
        do {
            let store = try store()
            var verdict: ShadowVerdict?
            while verdict == nil {
                verdict = try store.read { transaction -> ShadowVerdict? in
                    let token = try transaction.currentToken()
                    if token < job.token, ContinuousClock.now < deadline { return nil }
                    guard token == job.token else { return .skewed }
                    for read in job.reads where try answer(read, transaction) != read.answer {
                        onDifference(
                            Difference(
                                token: token,
                                message: "a shadow read differs: \(Self.kind(read)) of \(read.answer.rows) records"
                            )
                        )
                        return .mismatch
                    }
                    return .match
                }
                if verdict == nil { Thread.sleep(forTimeInterval: 0.001) }
            }
            metrics.latency(engine, .shadow, since: start)
            note(verdict ?? .skewed)
        } catch {
            note(.error)
        }
    }

    private static func kind(_ read: RecordedRead) -> String {
        switch read.question {
        case .rows: "the rows of a fetch"
        case .count: "the count of a fetch"
        case .record: "the record of an identifier"
        }
    }

    private func answer(_ read: RecordedRead, _ transaction: any ReadTransaction) throws -> ReadDigest {
        var digest = ReadDigest()
        switch read.question {
        case .rows(let remake, let count, let isCut):
            let fetch = try remake(transaction).wholeRecords
            try transaction.enumerateRows(fetch) { row in
                digest.add(try row.encoded())
                return !isCut || digest.rows < count
            }
        case .count(let remake): digest.add(try transaction.count(try remake(transaction)))
        case .record(let entity, let id):
            _ = try transaction.withRow(entity: entity, id: id) { digest.add(try $0.encoded()) }
        }
        return digest
    }
}
