import Foundation
import HabitStore
import HabitTracker

/// Runs random live queries over random transactions, and compares their answers with fetches and each difference with the two answers around it.
public struct LiveQueryTest: Sendable {
    /// The counts of a run.
    public struct Report: Sendable, Equatable, CustomStringConvertible {
        /// The seed of the run.
        public var seed: UInt64
        /// Committed transactions.
        public var commits = 0
        /// Started live queries.
        public var queries = 0
        /// Delivered answers.
        public var answers = 0
        /// How many answers were patched rather than fetched.
        public var patched = 0
        /// How often queries were fetched.
        public var asked = 0
        /// Queries that ended with an error, as the fetch did.
        public var failed = 0

        /// The counts in one line.
        public var description: String {
            "seed \(seed): \(commits) commits, \(queries) live queries, \(answers) answers, \(patched) patches, run again \(asked) "
                + "times, \(failed) ended with an error"
        }
    }

    /// The seed that determines the whole run.
    public let seed: UInt64
    /// The number of transactions.
    public let commits: Int

    /// Configures a test.
    public init(seed: UInt64, commits: Int) { (self.seed, self.commits) = (seed, commits) }

    /// Runs the test in a temporary directory that is removed afterwards.
    ///
    /// - Throws: ``Disagreement`` with the seed, the question and both answers.
    public func run(against subject: StoreUnderTest) throws -> Report {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("live-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let clock = StepClock()
        let store = try subject.open(directory, HabitSchema.current, UUID()) { clock.now }
        let result = Result {
            let run = LiveQueryRun(seed: seed, store: store, clock: clock)
            try run.work(commits: commits)
            return run.report
        }
        store.close()
        try FileManager.default.removeItem(at: directory)
        return try result.get()
    }
}
