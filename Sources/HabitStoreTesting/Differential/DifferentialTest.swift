import Foundation
import HabitStore
import HabitTracker
import Synchronization

/// Runs random operations and queries against a store and the store in memory in lockstep, and compares every result and every error.
public struct DifferentialTest: Sendable {
    /// The counts of a run.
    public struct Report: Sendable, Equatable, CustomStringConvertible {
        /// The seed of the run.
        public var seed: UInt64
        /// Single operations inside transactions.
        public var operations = 0
        /// Transactions, including refused ones.
        public var transactions = 0
        /// Transactions that both stores refused.
        public var refused = 0
        /// All queries.
        public var queries = 0
        /// Queries whose answer is neither empty nor an error.
        public var answered = 0
        /// Queries to which both stores answered with an error.
        public var failed = 0
        /// Comparisons of all records.
        public var comparisons = 0

        /// The counts in one line.
        public var description: String {
            "seed \(seed): \(operations) operations in \(transactions) transactions, \(refused) of them refused; "
                + "\(queries) queries, \(answered) of them with results and \(failed) with an error; "
                + "\(comparisons) comparisons of everything"
        }
    }

    /// The seed that determines the whole run.
    public let seed: UInt64
    /// The minimum number of operations.
    public let operations: Int
    /// The number of queries.
    public let queries: Int

    /// Configures a test.
    public init(seed: UInt64, operations: Int = 2_000, queries: Int = 500) {
        self.seed = seed
        self.operations = operations
        self.queries = queries
    }

    /// Runs the test in a temporary directory that is removed afterwards.
    ///
    /// - Throws: ``Disagreement`` with the seed, the question and both answers.
    public func run(against subject: StoreUnderTest) throws -> Report {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("differential-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let clock = StepClock()
        let identity = UUID()
        let store = try subject.open(directory, HabitSchema.current, identity) { clock.now }
        let reference = try InMemoryHabitStore(schema: HabitSchema.current, identity: identity) { clock.now }
        let run = DifferentialRun(seed: seed, reference: reference, subject: store, clock: clock)
        let result = Result {
            try run.work(operations: operations, queries: queries)
            return run.report
        }
        store.close()
        try FileManager.default.removeItem(at: directory)
        return try result.get()
    }
}

/// A clock that stands still between steps, so that two stores stamp the same times.
final class StepClock: Sendable {
    private let seconds = Mutex(700_000_000.0)

    var now: Date { Date(timeIntervalSinceReferenceDate: seconds.withLock { $0 }) }

    func step() { seconds.withLock { $0 += 0.125 } }
}
